#include "io/data/pair_file.hpp"

#include <algorithm>

namespace zero {

std::string target_path(const std::string& source_path) {
  constexpr std::string_view kEnd = ".source";
  return source_path.substr(0, source_path.size() - kEnd.size()) + ".target";
}

bool names_pairs(const std::string& path) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{".jsonl", ".ndjson", ".json", ".csv", ".tsv"},
      [&](std::string_view end) { return path.ends_with(end); });
}

std::unique_ptr<PairFile> open_pair_file(const std::string& path, const PairFields& fields) {
  for (const char* end : {".jsonl", ".ndjson", ".json"}) {
    if (path.ends_with(end)) return open_json_pairs(path, fields);
  }
  if (path.ends_with(".source")) return open_line_pairs(path);
  if (path.ends_with(".csv")) return open_csv_pairs(path, fields);
  if (path.ends_with(".tsv")) return open_tsv_pairs(path, fields);
  if (path.ends_with(".target")) {
    refuse(Exit::kInput, path, ": holds the targets; write the .source beside it");
  }
  refuse(Exit::kInput, path, ": its name says no format of pairs; ", kPairFileAdvice,
         ", or data.noise_density = 0.15 where it is a text without pairs");
}

}  // namespace zero
