#include <nlohmann/json.hpp>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/io/interop/safetensors.hpp"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kHeaderAlignBytes = 8;

const char* file_name_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? "BF16" : dtype == Dtype::f16 ? "F16" : "F32";
}

/// The header, and the bytes that follow it.
struct Layout {
  std::string header;
  int64_t data_bytes = 0;
};

Layout layout_of(const SafetensorsWriter::Content& content) {
  Json json = Json::object();
  if (!content.metadata.empty()) json["__metadata__"] = content.metadata;
  int64_t end = 0;
  for (const SafetensorsWriter::Tensor& tensor : content.tensors) {
    const int64_t begin = end;
    int64_t bytes = int64_t(bytes_of(content.dtype));
    for (const int64_t extent : tensor.shape) bytes *= extent;
    end += bytes;
    json[tensor.name] = {{"dtype", file_name_of(content.dtype)},
                         {"shape", tensor.shape},
                         {"data_offsets", {begin, end}}};
  }
  std::string header = json.dump();
  header.resize(round_up(header.size(), kHeaderAlignBytes), ' ');
  return {.header = std::move(header), .data_bytes = end};
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path, const Content& content)
    : file_(path) {
  const Layout layout = layout_of(content);
  const uint64_t length = layout.header.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(layout.header);
  left_ = layout.data_bytes;
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  ZERO_REQUIRE(int64_t(bytes.size()) <= left_, file_.path(), ": ", bytes.size(),
               " bytes where its tensors have ", left_, " left");
  file_.write(bytes);
  left_ -= int64_t(bytes.size());
}

void SafetensorsWriter::publish() {
  ZERO_REQUIRE(left_ == 0, file_.path(), ": ", left_, " bytes of its tensors have not come");
  file_.publish();
}

}  // namespace zero
