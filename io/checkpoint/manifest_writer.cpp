#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/checkpoint/manifest_rules.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/manifest.hpp"

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

/// One of the thousands of entries of a manifest; by hand, since a save waits for them.
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

/// Each entry on a line of its own, for people who look.
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

/// What HDF5 puts around a slice and around all of them, amply.
constexpr int64_t kStructureOfSlice = 8 << 10, kStructureOfFile = 1 << 20;

int64_t bytes_of_digests(int64_t file_bytes, const DigestForm& form) {
  return form.digits() * (file_bytes / form.block_bytes + 1);
}

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
  // Nobody may have held them against any rules yet; exact up to far more than the bound.
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

}  // namespace zero::checkpoint
