#pragma once
/// The safetensors format. First come 8 bytes with the length N of the header, little-endian. Then
/// come N bytes of JSON, an object of name -> {"dtype", "shape", "data_offsets": [begin, end]}
/// beside "__metadata__" of strings. The bytes of all tensors follow without holes, row-major and
/// little-endian. Files are untrusted: every number is checked against the file size before
/// anything is allocated or read.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/io/interop/tensor_file.hpp"

namespace zero {

inline constexpr int64_t kSafetensorsHeaderBytesMax = int64_t(16) << 20;

/// Opens the file `path` and reads its header. Throws Error(kInput) naming the file, the tensor or
/// offset, and the fault.
TensorFile open_safetensors(const std::string& path);

/// A writer of a tensor file in bounded memory. The constructor takes names and shapes; write()
/// takes the tensors' bytes in that order.
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;
  /// Appends the next bytes of the tensors, little-endian. Throws Error(kIo).
  virtual void write(std::span<const std::byte> bytes) = 0;
  /// Completes the file and returns when it is on disk. REQUIRES: all bytes were written. Throws
  /// Error(kIo).
  virtual void publish() = 0;
};

class SafetensorsWriter : public TensorWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  struct Content {
    Dtype dtype = Dtype::f32;  ///< dtype of all tensors: f32, f16 or bf16
    std::vector<Tensor> tensors = {};
    std::map<std::string, std::string> metadata = {};
  };
  /// Creates the file `path` and writes the header of the tensors and metadata in `content`. Throws
  /// Error(kIo) as OutputFile.
  SafetensorsWriter(const std::string& path, const Content& content);

  void write(std::span<const std::byte> bytes) override;
  /// Syncs the file and gives it its name. Throws as OutputFile::publish.
  void publish() override;

 private:
  OutputFile file_;
  int64_t left_ = 0;
};

}  // namespace zero
