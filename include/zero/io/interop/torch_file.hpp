#pragma once
/// The files of torch.save since PyTorch 1.6, as pytorch_model.bin. A zip archive of stored entries
/// holds NAME/data.pkl, a pickle of a dictionary of tensors, and a NAME/data/KEY for each storage.
/// Several tensors may lie in one storage, with any strides. No code of a file is run.

#include <cstdint>
#include <string>

#include "zero/io/interop/tensor_file.hpp"

namespace zero {

inline constexpr int64_t kTorchPickleBytesMax = int64_t(8) << 20;

/// Opens the file `path` and reads its dictionary of tensors. Files are untrusted: every number is
/// checked against the file size before anything is allocated or read. Throws Error(kInput) naming
/// the file, the tensor or offset, and the fault: also for files of earlier PyTorch, big-endian
/// ones, and pickles that hold more than tensors.
TensorFile open_torch_file(const std::string& path);

}  // namespace zero
