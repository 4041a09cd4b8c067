#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {

/// Returns a shape as text: "[50257, 768]".
std::string shape_text(std::span<const int64_t> shape);

/// Returns the bytes of a tensor with extents `shape` and elements of `element_bytes`. None if they
/// exceed an int64.
std::optional<int64_t> bytes_of_shape(std::span<const int64_t> shape, int64_t element_bytes);

/// An element type of other programs' files, by safetensors' name: F32, F16, BF16, I64, ...
struct FileDtype {
  std::string_view name;
  int64_t bytes = 0;
  std::optional<Dtype> usable = {};  ///< f32, f16 or bf16; TensorFile reads no others
};
/// Returns the element type that safetensors calls `name`, or nullptr if it is unknown.
const FileDtype* file_dtype(std::string_view name);

inline constexpr size_t kFileRankMax = 8;  ///< extents of a tensor in a file

struct FileTensor {
  std::string name;
  std::string dtype;             ///< a name of file_dtype()
  std::optional<Dtype> usable;   ///< as FileDtype
  std::vector<int64_t> shape;    ///< at most kFileRankMax extents
  int64_t begin = 0, end = 0;    ///< bytes [begin, end) of the file
  std::vector<int64_t> strides;  ///< in elements, one an extent; empty if row-major

  /// Returns the count of elements.
  int64_t numel() const;
};

/// A stretch of a file whose CRC-32 is known.
struct FileBlock {
  std::string name;            ///< for messages
  int64_t begin = 0, end = 0;  ///< bytes [begin, end) of the file
  uint32_t crc = 0;
};
/// Reads the block once. Throws Error(kInput) naming file and block if its CRC is another.
void require_crc(const InputFile& file, const FileBlock& block);

/// A file of named tensors. Each is read from its place in the file.
class TensorFile {
 public:
  using Metadata = std::map<std::string, std::string>;
  /// Takes the open `file`, with the places of its tensors, its metadata and its blocks. REQUIRES:
  /// the tensors lie in the file, little-endian, and no two have one name. No two elements of a
  /// tensor share a place. Blocks lie apart.
  TensorFile(InputFile file, std::vector<FileTensor> tensors, Metadata metadata = {},
             std::vector<FileBlock> blocks = {});

  const std::string& path() const { return file_.path(); }
  /// Returns the tensors in the order of their bytes.
  const std::vector<FileTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  /// Returns the tensor `name`, or nullptr if the file has none of this name.
  const FileTensor* find(std::string_view name) const;

  /// Fills `out` with elements of `tensor`, one of tensors(), from its element `first` on. Converts
  /// to fp32, row-major, which is exact. With strides, a read of whole rows is fastest. The first
  /// read in a block checks the block. Throws Error(kInput) for a dtype that is not usable, and as
  /// require_crc() and InputFile::read. One thread at a time may read.
  void read(const FileTensor& tensor, int64_t first, std::span<float> out) const;

 private:
  void check_block(const FileTensor& tensor) const;

  InputFile file_;
  mutable std::vector<FileBlock> blocks_;  ///< not yet checked, by their bytes
  std::vector<FileTensor> tensors_;
  std::map<std::string_view, size_t> by_name_;
  Metadata metadata_;
};

}  // namespace zero
