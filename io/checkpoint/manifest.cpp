#include "zero/io/checkpoint/manifest.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/checkpoint/manifest_rules.hpp"
#include "zero/base/error.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

std::string list_of(const std::vector<int64_t>& numbers) {
  std::string out = "[";
  for (const int64_t number : numbers) {
    if (out.size() > 1) out += ',';
    out += std::to_string(number);
  }
  return out + "]";
}

/// Returns a manifest entry as text. Written by hand, because a manifest has thousands of entries
/// and a save waits for them.
std::string entry_of(const Tensor& tensor) {
  return "{\"name\":" + Json(tensor.name).dump() + ",\"dtype\":\"" +
         std::string(name_of(tensor.dtype)) + "\",\"shape\":" + list_of(tensor.shape) + "}";
}

std::string entry_of(const Slice& slice) {
  return "{\"tensor\":" + std::to_string(slice.tensor) + ",\"file\":" + std::to_string(slice.file) +
         ",\"begin\":" + std::to_string(slice.begin) + ",\"numel\":" + std::to_string(slice.numel) +
         ",\"offset\":" + std::to_string(slice.offset) + "}";
}

std::string entry_of(const File& file) {
  const std::string crc32c = file.xxh3.empty() ? "" : ",\"crc32c\":\"" + file.digests + "\"";
  return "{\"name\":" + Json(file.name).dump() + ",\"bytes\":" + std::to_string(file.bytes) +
         crc32c + ",\"xxh3\":\"" + (file.xxh3.empty() ? file.digests : file.xxh3) + "\"}";
}

/// Returns a list member as text, with each entry on its own line for people.
template <class List>
std::string member_of(const char* name, const List& list) {
  std::string out = text(",\n\"", name, "\": [");
  const char* separator = "\n";
  for (const auto& element : list) {
    out += separator + entry_of(element);
    separator = ",\n";
  }
  return out + "]";
}

/// Most bytes that HDF5 puts around a slice and around all slices, amply.
constexpr int64_t kStructureOfSlice = 8 << 10, kStructureOfFile = 1 << 20;

int64_t bytes_of_digests(int64_t file_bytes, const DigestForm& form) {
  return form.digits() * (file_bytes / form.block_bytes + 1);
}

constexpr size_t kDimensionsMax = 8;
constexpr JsonLimits kLimits = {.depth = 4};  // object, list, entry, shape

/// A list of the manifest and the number of fields in its entries. A file with CRC-32C has one
/// more.
struct ListKind {
  std::string_view name;
  int fields;
};
constexpr std::array<ListKind, 3> kLists = {{{"tensors", 3}, {"slices", 5}, {"files", 3}}};
constexpr int kMembers = 8;
/// The version comes first, because it decides how files are read, and a newer one is refused
/// before its new members.
constexpr const char* kBeforeVersion = "stands in front of \"format_version\"";

constexpr std::array<Dtype, 4> kDtypes = {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64};

/// A receiver of a manifest's JSON. read_json() refuses a repeated name and this class an unknown
/// one, so a count shows whether any is missing. An entry must be whole before the next begins, so
/// the text's length bounds the entries.
class ManifestSink : public JsonSink {
 public:
  explicit ManifestSink(const std::string& name) : name_(name) {}

  void open(Path path, bool is_array) override {
    if (path.empty()) return;
    if (members_ == 0) fail(path, kBeforeVersion);
    if (path.size() == 2 && list_ == "tensors" && path[1] == "shape" && is_array) {
      in_shape_ = true;
      ++fields_;
    } else if (path.size() == 1 && path[0] == "facts" && !is_array) {
      ++members_;
    } else if (path.size() == 1 && is_array && list_ != path[0]) {
      begin_list(path);
    } else if (path.size() == 1 && !is_array && list_ == path[0]) {
      begin_entry();
    } else {
      fail(path, "a list or an object is not expected");
    }
  }

  void value(Path path, const JsonScalar& value) override {
    if (path.size() == 1) {
      ++members_;
      take_member(path, value);
    } else if (path[0] == "facts") {
      manifest_.facts[path[1]] = word(path, value);
    } else if (in_shape_ && path[1] == "shape") {
      take_extent(path, value);
    } else {
      ++fields_;
      take_field(path, value);
    }
  }

  Manifest result() {
    end_entry();
    if (members_ != kMembers) refuse(Exit::kInput, name_, ": lacks a member of a manifest");
    return std::move(manifest_);
  }

 private:
  [[noreturn]] void fail(Path path, const std::string& what) const {
    std::string place;
    for (const std::string& key : path) place += (place.empty() ? "" : ".") + shown(key);
    const std::string entry =
        list_ == path[0] && entries_ > 0 ? text(" of entry ", entries_ - 1) : "";
    refuse(Exit::kInput, name_, ": \"", place, "\"", entry, ": ", what);
  }

  void begin_list(Path path) {
    end_entry();
    const auto kind = std::find_if(kLists.begin(), kLists.end(),
                                   [&](const ListKind& list) { return list.name == path[0]; });
    if (kind == kLists.end()) fail(path, "a list is not expected");
    list_ = path[0];
    fields_ = wanted_fields_ = 0;
    next_fields_ = kind->fields + (list_ == "files" && has_crc32c());
    entries_ = 0;
    ++members_;
  }

  void begin_entry() {
    end_entry();
    fields_ = 0;
    wanted_fields_ = next_fields_;
    in_shape_ = false;
    ++entries_;
    if (list_ == "tensors") manifest_.tensors.emplace_back();
    if (list_ == "slices") manifest_.slices.emplace_back();
    if (list_ == "files") manifest_.files.emplace_back();
  }

  void end_entry() const {
    if (fields_ == wanted_fields_) return;
    refuse(Exit::kInput, name_, ": entry ", entries_ - 1, " of \"", list_, "\" has ", fields_,
           " fields, not ", wanted_fields_);
  }

  void take_member(Path path, const JsonScalar& value) {
    if (path[0] == "format_version") {
      manifest_.format_version = number(path, value);
      require_known_version();
    } else if (members_ == 1) {
      fail(path, kBeforeVersion);
    } else if (path[0] == "step") {
      manifest_.step = number(path, value);
    } else if (path[0] == "ranks") {
      manifest_.ranks = small_number(path, value);
    } else if (path[0] == "sha256") {
      word(path, value);
    } else {
      fail(path, "is not known, or of another kind");
    }
  }

  bool has_crc32c() const { return manifest_.format_version <= kCrc32cVersion; }

  void require_known_version() const {
    if (manifest_.format_version >= 1 && manifest_.format_version <= kFormatVersion) return;
    if (manifest_.format_version < 1) {
      refuse(Exit::kInput, name_, ": format_version ", manifest_.format_version,
             " is no version of a format");
    }
    refuse(Exit::kNoCheckpoint, name_, ": is of format version ", manifest_.format_version,
           "; this program reads versions 1 to ", kFormatVersion, " - use a newer program");
  }

  void take_extent(Path path, const JsonScalar& value) {
    std::vector<int64_t>& shape = manifest_.tensors.back().shape;
    if (shape.size() == kDimensionsMax) fail(path, text("more than ", kDimensionsMax, " extents"));
    shape.push_back(number(path, value));
  }

  void take_field(Path path, const JsonScalar& value) {
    if (wanted_fields_ == 0) fail(path, "is not known, or of another kind");
    if (list_ == "tensors") return take_tensor_field(path, value);
    if (list_ == "slices") return take_slice_field(path, value);
    take_file_field(path, value);
  }

  void take_tensor_field(Path path, const JsonScalar& value) {
    Tensor& tensor = manifest_.tensors.back();
    if (path[1] == "name") {
      tensor.name = word(path, value);
    } else if (path[1] == "dtype") {
      const std::string& name = word(path, value);
      const auto dtype = std::find_if(kDtypes.begin(), kDtypes.end(),
                                      [&](Dtype known) { return name_of(known) == name; });
      if (dtype == kDtypes.end()) fail(path, "no dtype \"" + shown(name) + "\" is known");
      tensor.dtype = *dtype;
    } else {
      fail(path, "is not known, or of another kind");
    }
  }

  void take_slice_field(Path path, const JsonScalar& value) {
    Slice& slice = manifest_.slices.back();
    if (path[1] == "tensor") {
      slice.tensor = small_number(path, value);
    } else if (path[1] == "file") {
      slice.file = small_number(path, value);
    } else if (path[1] == "begin") {
      slice.begin = number(path, value);
    } else if (path[1] == "numel") {
      slice.numel = number(path, value);
    } else if (path[1] == "offset") {
      slice.offset = number(path, value);
    } else {
      fail(path, "is not known, or of another kind");
    }
  }

  void take_file_field(Path path, const JsonScalar& value) {
    File& file = manifest_.files.back();
    if (path[1] == "name") {
      file.name = word(path, value);
    } else if (path[1] == "bytes") {
      file.bytes = number(path, value);
    } else if (path[1] == (has_crc32c() ? "crc32c" : "xxh3")) {
      file.digests = word(path, value);
    } else if (path[1] == "xxh3") {
      file.xxh3 = word(path, value);
    } else {
      fail(path, "is not known, or of another kind");
    }
  }

  const std::string& word(Path path, const JsonScalar& value) const {
    const std::string* content = std::get_if<std::string>(&value);
    if (!content) fail(path, "is no string");
    return *content;
  }
  int64_t number(Path path, const JsonScalar& value) const {
    const int64_t* content = std::get_if<int64_t>(&value);
    if (!content || *content < 0) fail(path, "is no whole number from 0 to 2^63 - 1");
    return *content;
  }
  int32_t small_number(Path path, const JsonScalar& value) const {
    const int64_t content = number(path, value);
    if (content > std::numeric_limits<int32_t>::max()) fail(path, "is too large");
    return int32_t(content);
  }

  const std::string& name_;
  Manifest manifest_;
  std::string list_;  // the list being read, or read last
  int members_ = 0, fields_ = 0, wanted_fields_ = 0, next_fields_ = 0;
  int64_t entries_ = 0;
  bool in_shape_ = false;
};

}  // namespace

std::string rank_file_name(int rank) {
  char name[32];
  std::snprintf(name, sizeof name, "rank%05d.h5", rank);
  return name;
}

std::string dataset_name(const std::string& tensor, int64_t begin) {
  return begin == 0 ? tensor : text(tensor, "@", begin);
}

DigestForm digest_form(const Manifest& manifest) {
  // In floating point, because the shapes may be unchecked yet. Exact far beyond the bound.
  double bytes = 0;
  for (const Tensor& tensor : manifest.tensors) {
    double product = double(bytes_of(tensor.dtype));
    for (const int64_t extent : tensor.shape) product *= double(extent);
    bytes += product;
  }
  const bool are_long =
      manifest.format_version <= kLongBlocksVersion || bytes > double(kShortBlocksMost);
  return {.block_bytes = are_long ? kLongBlockBytes : kShortBlockBytes,
          .is_crc32c = manifest.format_version <= kCrc32cVersion,
          .file_is_of_bytes = manifest.format_version <= kDigestsOfBytesVersion};
}

std::string to_text(const Manifest& manifest) {
  std::string out =
      text("{\"format_version\": ", manifest.format_version, ",\n\"step\": ", manifest.step,
           ",\n\"ranks\": ", manifest.ranks, ",\n\"facts\": ");
  try {
    out += Json(manifest.facts).dump(1);
  } catch (const Json::exception& error) {
    ZERO_REQUIRE(false, "a fact of a checkpoint is no UTF-8: ", error.what());
  }
  return sealed(out + member_of("tensors", manifest.tensors) +
                member_of("slices", manifest.slices) + member_of("files", manifest.files));
}

int64_t text_bytes_most(const Manifest& described) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kSeparator = 2;
  Manifest head = described;
  head.tensors.clear();
  head.slices.clear();
  head.files.clear();
  int64_t bytes = int64_t(to_text(head).size());
  for (const Tensor& tensor : described.tensors) {
    bytes += int64_t(entry_of(tensor).size()) + kSeparator;
  }
  std::map<int32_t, int64_t> files;
  for (Slice slice : described.slices) {
    slice.offset = kMost;
    bytes += int64_t(entry_of(slice).size()) + kSeparator;
    const Dtype dtype = described.tensors[size_t(slice.tensor)].dtype;
    files[slice.file] += slice.numel * int64_t(bytes_of(dtype)) + kStructureOfSlice;
  }
  const DigestForm form = digest_form(described);
  const auto structures = int64_t(described.tensors.size() + described.slices.size());
  bytes += bytes_of_digests(structures * kStructureOfSlice + kStructureOfFile, form);
  for (const auto& [rank, length] : files) {
    bytes += bytes_of_digests(length + kStructureOfFile, form);
  }
  const File entry = {.name = kIndexName, .bytes = kMost, .digests = "", .xxh3 = ""};
  return bytes + int64_t(files.size() + 1) * (int64_t(entry_of(entry).size()) + kSeparator);
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  if (int64_t(text.size()) > kManifestBytesMax) {
    refuse(Exit::kInput, path, ": has ", text.size(), " bytes, at most ", kManifestBytesMax,
           " are read");
  }
  require_seal(text, path);
  ManifestSink sink(path);
  read_json(text, path, kLimits, sink);
  Manifest manifest = sink.result();
  require_rules(manifest, path);
  return manifest;
}

}  // namespace zero::checkpoint
