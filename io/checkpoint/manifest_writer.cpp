#include <cstdio>
#include <nlohmann/json.hpp>

#include "io/checkpoint/manifest_seal.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

/// Eight digits a block: shorter than a list of numbers.
std::string hex_of(const std::vector<uint32_t>& digests) {
  std::string out;
  char word[9];
  for (const uint32_t digest : digests) {
    std::snprintf(word, sizeof word, "%08x", digest);
    out += word;
  }
  return out;
}

/// Each entry on a line of its own, for people who look.
template <class List, class Entry>
std::string list_of(const char* name, const List& list, const Entry& entry) {
  std::string out = text(",\n\"", name, "\": [");
  const char* separator = "\n";
  for (const auto& element : list) {
    out += separator + Json(entry(element)).dump();
    separator = ",\n";
  }
  return out + "]";
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

std::string to_text(const Manifest& manifest) {
  std::string out =
      text("{\"format_version\": ", manifest.format_version, ",\n\"step\": ", manifest.step,
           ",\n\"ranks\": ", manifest.ranks, ",\n\"facts\": ");
  try {
    out += Json(manifest.facts).dump(1);
  } catch (const Json::exception& error) {
    ZERO_REQUIRE(false, "a fact of a checkpoint is no UTF-8: ", error.what());
  }
  out += list_of("tensors", manifest.tensors, [](const Tensor& tensor) {
    return Json{{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}};
  });
  out += list_of("slices", manifest.slices, [](const Slice& slice) {
    return Json{{"tensor", slice.tensor},
                {"file", slice.file},
                {"begin", slice.begin},
                {"numel", slice.numel},
                {"offset", slice.offset}};
  });
  out += list_of("files", manifest.files, [](const File& file) {
    return Json{{"name", file.name},
                {"bytes", file.bytes},
                {"crc32c", hex_of(file.crc32c)},
                {"xxh3", file.xxh3}};
  });
  return sealed(out);
}

}  // namespace zero::checkpoint
