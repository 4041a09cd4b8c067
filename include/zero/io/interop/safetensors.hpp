#pragma once
/// safetensors: 8 bytes with the length N of a header, little-endian; N bytes of JSON, an object of
/// name -> {"dtype", "shape", "data_offsets": [begin, end]} beside "__metadata__" of strings. Then
/// follow the bytes of all tensors, row-major, little-endian, one after the other without holes.
/// Files are taken to come from elsewhere: every number is checked against the size of the file
/// before anything is allocated or read.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/io/files/files.hpp"

namespace zero {

inline constexpr int64_t kSafetensorsHeaderBytesMax = int64_t(16) << 20;

/// "[50257, 768]"
std::string shape_text(std::span<const int64_t> shape);

struct SafetensorsTensor {
  std::string name;
  std::string dtype;            ///< as the file names it: F32, F16, BF16, I64, ...
  std::optional<Dtype> usable;  ///< f32, f16 or bf16; none: read() refuses it
  std::vector<int64_t> shape;   ///< at most 8 extents
  int64_t begin = 0, end = 0;   ///< in the file

  int64_t numel() const;
};

class SafetensorsFile {
 public:
  /// Reads the header. Throws Error(kInput) naming the file, the tensor or offset, and what is
  /// wrong there.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// In the order of their bytes.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// nullptr if the file has none of the name.
  const SafetensorsTensor* find(std::string_view name) const;

  /// Elements of one of tensors(), from `first` on, as fp32, which is exact. Throws Error(kInput)
  /// for a dtype that is not usable, and as InputFile::read.
  void read(const SafetensorsTensor& tensor, int64_t first, std::span<float> out) const;

 private:
  InputFile file_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string_view, size_t> by_name_;
  std::map<std::string, std::string> metadata_;
};

/// A file of tensors being written in bounded memory: names and shapes first, then their bytes in
/// that order.
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;
  /// The next bytes of the tensors, little-endian. Throws Error(kIo).
  virtual void write(std::span<const std::byte> bytes) = 0;
  /// All bytes have come: the file is on the disk when it returns. Throws Error(kIo).
  virtual void publish() = 0;
};

class SafetensorsWriter : public TensorWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  struct Content {
    Dtype dtype = Dtype::f32;  ///< of all tensors: f32, f16 or bf16
    std::vector<Tensor> tensors = {};
    std::map<std::string, std::string> metadata = {};
  };
  /// Throws Error(kIo) as OutputFile.
  SafetensorsWriter(const std::string& path, const Content& content);

  void write(std::span<const std::byte> bytes) override;
  /// Gives the file its name as well. Throws as OutputFile::publish.
  void publish() override;

 private:
  OutputFile file_;
  int64_t left_ = 0;
};

}  // namespace zero
