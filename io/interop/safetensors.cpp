#include "zero/io/interop/safetensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/file_kind.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

/// A tensor as its JSON object states it, unchecked.
struct Entry {
  FileTensor tensor;
  bool has_dtype = false, has_shape = false, has_offsets = false;
  std::vector<int64_t> offsets = {};
};

/// A receiver of the header's entries. It refuses a value of the wrong type at once.
class HeaderSink : public JsonSink {
 public:
  explicit HeaderSink(const std::string& path) : path_(path) {}

  void open(Path path, bool is_array) override {
    if (path.empty()) return;
    if (path.size() == 1) return open_entry(path[0], is_array);
    if (path[0] == kMetadata) fail(path[0], text("\"", shown(path[1]), "\" is no string"));
    Entry& entry = entries_.back();
    const bool shape = path[1] == "shape", offsets = path[1] == "data_offsets";
    if (!is_array || !(shape || offsets) || (shape ? entry.has_shape : entry.has_offsets)) {
      fail_field(path);
    }
    (shape ? entry.has_shape : entry.has_offsets) = true;
  }

  void value(Path path, const JsonScalar& value) override {
    if (path.size() == 1) fail(path[0], "is no object");
    if (path[0] == kMetadata) return add_metadata(path[1], value);
    Entry& entry = entries_.back();
    const int64_t* number = std::get_if<int64_t>(&value);
    const std::string* word = std::get_if<std::string>(&value);
    if (path[1] == "dtype" && word) {
      entry.has_dtype = true;
      entry.tensor.dtype = *word;
    } else if (path[1] == "shape" && entry.has_shape && number && *number >= 0) {
      append(path[0], entry.tensor.shape, *number, kFileRankMax, "extents");
    } else if (path[1] == "data_offsets" && entry.has_offsets && number && *number >= 0) {
      append(path[0], entry.offsets, *number, 2, "data_offsets");
    } else {
      fail_field(path);
    }
  }

  std::vector<Entry> take_entries() { return std::move(entries_); }
  std::map<std::string, std::string> take_metadata() { return std::move(metadata_); }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    refuse(Exit::kInput, path_, ": \"", shown(name), "\": ", what);
  }
  [[noreturn]] void fail_field(Path path) const {
    fail(path[0], text("\"", shown(path[1]), "\" is no field of a tensor, or of another kind"));
  }
  void open_entry(const std::string& name, bool is_array) {
    if (is_array) fail(name, "is no object");
    if (name == kMetadata) return;
    entries_.emplace_back();
    entries_.back().tensor.name = name;
  }
  void add_metadata(const std::string& key, const JsonScalar& value) {
    const std::string* word = std::get_if<std::string>(&value);
    if (!word) fail(std::string(kMetadata), text("\"", shown(key), "\" is no string"));
    metadata_[key] = *word;
  }
  void append(const std::string& name, std::vector<int64_t>& list, int64_t number, size_t most,
              const char* what) const {
    if (list.size() == most) fail(name, text("more than ", most, " ", what));
    list.push_back(number);
  }

  const std::string& path_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Returns the tensor of an entry, with offsets counted from `data` and ending by `end`. Throws
/// Error(kInput) if its parts disagree.
FileTensor checked(Entry entry, const std::string& path, int64_t data, int64_t end) {
  FileTensor& tensor = entry.tensor;
  const auto fail = [&](const auto&... what) {
    refuse(Exit::kInput, path, ": \"", shown(tensor.name), "\": ", what...);
  };
  if (!entry.has_dtype || !entry.has_shape || entry.offsets.size() != 2) {
    fail("lacks a dtype, a shape or two data_offsets");
  }
  const FileDtype* dtype = file_dtype(tensor.dtype);
  if (!dtype) fail("dtype \"", shown(tensor.dtype), "\" is not known");
  const int64_t first = entry.offsets[0], last = entry.offsets[1];
  if (first > last || last > end - data) {
    fail("data_offsets [", first, ", ", last, "] leave the ", end - data, " bytes of data",
         first > last ? "" : "; the file is cut off, so fetch it again");
  }
  const auto bytes = bytes_of_shape(tensor.shape, dtype->bytes);
  if (!bytes || *bytes != last - first) {
    fail("shape ", shape_text(tensor.shape), " of ", tensor.dtype, " takes ",
         bytes ? std::to_string(*bytes) : "more than 2^63", " bytes, data_offsets [", first, ", ",
         last, "] hold ", last - first);
  }
  tensor.usable = dtype->usable;
  tensor.begin = data + first;
  tensor.end = data + last;
  return std::move(tensor);
}

/// Throws Error(kInput) unless every byte of the data belongs to one tensor.
void check_cover(const std::vector<FileTensor>& tensors, const std::string& path, int64_t data,
                 int64_t end) {
  int64_t covered = data;
  for (const FileTensor& tensor : tensors) {
    if (tensor.begin != covered) {
      refuse(Exit::kInput, path, ": \"", shown(tensor.name), "\": begins at offset ", tensor.begin,
             ", but the tensors before it end at ", covered);
    }
    covered = tensor.end;
  }
  if (covered != end) {
    refuse(Exit::kInput, path, ": the tensors end at offset ", covered, ", the file at ", end);
  }
}

/// Returns another file's kind by its first bytes, and the way to a readable file.
std::string instead_of_header(const InputFile& file) {
  const std::string kind = file_kind(first_bytes(file), file.path());
  if (!kind.empty()) return ": it " + kind;
  return "; the file is cut off or damaged, so fetch it again";
}

std::string read_header(const InputFile& file) {
  uint64_t length = 0;
  if (file.bytes() < kLengthBytes + 2) {
    refuse(Exit::kInput, file.path(), ": ", file.bytes(), " bytes are no safetensors file",
           instead_of_header(file));
  }
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  const int64_t most = std::min(file.bytes() - kLengthBytes, kSafetensorsHeaderBytesMax);
  if (length < 2 || length > uint64_t(most)) {
    refuse(Exit::kInput, file.path(), ": offset 0: a header of ", length, " bytes, not 2 to ", most,
           " as in a safetensors file of ", file.bytes(), " bytes", instead_of_header(file));
  }
  std::string header(size_t(length), '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(header)));
  if (header[0] != '{')
    refuse(Exit::kInput, file.path(), ": offset 8: no { begins the header",
           instead_of_header(file));
  return header;
}

constexpr size_t kHeaderAlignBytes = 8;

const char* file_name_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? "BF16" : dtype == Dtype::f16 ? "F16" : "F32";
}

/// The header, and the count of bytes that follow it.
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

TensorFile open_safetensors(const std::string& path) {
  InputFile file(path);
  const std::string header = read_header(file);
  HeaderSink sink(path);
  read_json(header, path, {.depth = 3}, sink);
  const int64_t data = kLengthBytes + int64_t(header.size()), end = file.bytes();
  std::vector<FileTensor> tensors;
  for (Entry& entry : sink.take_entries())
    tensors.push_back(checked(std::move(entry), path, data, end));
  TensorFile opened(std::move(file), std::move(tensors), sink.take_metadata());
  check_cover(opened.tensors(), path, data, end);
  return opened;
}

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
