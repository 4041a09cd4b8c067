#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// A tensor as a pickle of torch.save describes it, unchecked beyond its form.
struct PickledTensor {
  std::string name;
  std::string_view dtype;  ///< a name of file_dtype()
  std::string storage;     ///< the key of the storage that it lies in
  int64_t storage_numel = 0, offset = 0;
  std::vector<int64_t> shape, strides;  ///< in elements; at most kFileRankMax
};

inline constexpr size_t kPickledNameBytesMax = 1024;
inline constexpr size_t kPickledValuesMax = size_t(1) << 18;  // and of those on the stack
inline constexpr size_t kPickledTensorsMax = size_t(1) << 15;

/// Reads the pickle of a dictionary of tensors, as torch.save writes a state_dict, from an
/// untrusted source. Runs no code: the pickle may name collections.OrderedDict, the storages of
/// torch, and the two functions that make tensors and parameters, and this reader acts as they do.
/// The text's length and the limits above bound time and memory, and nothing recurses. Throws
/// Error(kInput),
/// "<name>: byte 17: <what>", for all else, and for two tensors of one name.
std::vector<PickledTensor> read_torch_pickle(std::string_view pickle, const std::string& name);

}  // namespace zero
