#include <algorithm>
#include <filesystem>
#include <map>

#include "io/data/data_file.hpp"
#include "io/data/data_paths.hpp"
#include "io/data/field_file.hpp"
#include "io/data/parquet_file.hpp"
#include "io/data/prepared_documents.hpp"
#include "io/data/token_source.hpp"
#include "zero/base/path.hpp"
#include "zero/io/data/prepare.hpp"

namespace zero {
namespace {

/// A finder of the raw files of a kind of data.
class Finder {
 public:
  Finder(const DataKind& kind, const DataOptions& options)
      : data_(options.data),
        has_documents_(&kind == &document_data()),
        has_texts_(&kind == &token_data() || &kind == &span_data() ||
                   (has_documents_ && packing_of(options) == Packing::stream)) {}

  /// True if a run that reads the file would encode it. Leaves missing files to who opens them.
  bool is_raw(const std::string& path, RawFile& file) const {
    if (path == "synthetic" || look_at(path).kind != PathKind::file) return false;
    file = {.path = path};
    if (has_documents_ && (names_fields(path) || names_parquet(path))) return true;
    file.is_text = true;
    return has_texts_ && is_text_to_encode({.path = path, .tokenizer = data_.tokenizer});
  }

 private:
  const DataConfig& data_;
  bool has_documents_, has_texts_;
};

/// Returns a path in which no letter is one of a pattern.
std::string as_pattern(const std::string& path) {
  std::string pattern;
  for (const char letter : path) {
    if (std::string_view("*?[]\\").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

/// The sets of the files that a path or a pattern names.
class PartSets {
 public:
  PartSets(const std::string& part, const std::string& folder)
      : folder_(folder + format("-%08llx", (unsigned long long)name_of(part) >> 32)) {}

  void add(const RawFile& file, const DataOptions& options, RunSets& sets) {
    const std::string stem = std::filesystem::path(file.path).stem().string();
    const std::string set =
        text(folder_, format("/%05zu-", count_++), stem, file.is_text ? ".encoded" : ".documents");
    sets.orders.push_back({.options = options, .folder = set, .files = {file}, .is_of_run = true});
    last_ = set;
  }
  bool is_empty() const { return count_ == 0; }
  /// Returns the path or the pattern of the sets.
  std::string path() const {
    if (count_ == 1) return last_;
    return as_pattern(folder_) + "/*" + std::filesystem::path(last_).extension().string();
  }

 private:
  static uint64_t name_of(const std::string& part) {
    return number_of(xxh3_of(std::as_bytes(std::span(part))));
  }

  std::string folder_, last_;
  size_t count_ = 0;
};

int64_t bytes_of(const std::vector<SetOrder>& orders) {
  int64_t bytes = 0;
  for (const SetOrder& order : orders)
    for (const RawFile& file : order.files) bytes += InputFile(file.path).bytes();
  return bytes;
}

struct Replacing {
  const Finder& finder;
  const DataOptions& options;
  std::string folder;
};

/// Puts sets in place of the files of a path or a pattern, if all are raw and alike.
void replace(std::string& part, const std::vector<std::string>& files, const Replacing& how,
             RunSets& sets) {
  std::vector<RawFile> raw;
  for (const std::string& file : files) {
    RawFile one;
    if (!how.finder.is_raw(file, one) || (!raw.empty() && raw.front().is_text != one.is_text))
      return;
    raw.push_back(one);
  }
  PartSets made(part, how.folder);
  for (const RawFile& file : raw) made.add(file, how.options, sets);
  if (!made.is_empty()) part = made.path();
}

std::vector<std::string> files_of(const DataConfig& data, const std::string& part) {
  DataConfig one = data;
  one.train = part;
  one.train_parts.clear();
  return possible_paths(one);
}

}  // namespace

RunSets sets_of_run(const DataKind& kind, const DataOptions& options, const std::string& folder,
                    int64_t most) {
  RunSets sets{.options = options};
  const Finder finder(kind, options);
  DataConfig& data = sets.options.data;
  const auto replaced = [&](std::string& part, const std::string& name, int64_t most_samples) {
    // Where the first documents are enough, these alone are encoded, in memory.
    if (part.empty() || (&kind == &document_data() && most_samples > 0)) return;
    replace(part, files_of(options.data, part), {finder, options, folder + "/" + name}, sets);
  };
  if (data.train_parts.empty()) replaced(data.train, "train", data.max_train_samples);
  for (DataPart& part : data.train_parts) replaced(part.path, "train", data.max_train_samples);
  replaced(data.validation, "validation", data.max_validation_samples);
  if (bytes_of(sets.orders) > most) return sets;
  return {.options = options};
}

}  // namespace zero
