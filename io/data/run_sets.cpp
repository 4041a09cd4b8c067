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

uint64_t name_of(const std::string& path) {
  return number_of(xxh3_of(std::as_bytes(std::span(path)))) >> 32;
}

/// The sets of the files that a path or a pattern names.
class PartSets {
 public:
  PartSets(const std::string& part, const std::string& folder)
      : folder_(folder + format("-%08llx", (unsigned long long)name_of(part))) {}

  /// Orders the set of a file, which keeps its name whatever other files come and go.
  void add(const RawFile& file, const DataOptions& options, RunSets& sets) {
    const std::string stem = std::filesystem::path(file.path).stem().string();
    const std::string set =
        text(folder_, '/', stem, format("-%08llx", (unsigned long long)name_of(file.path)),
             file.is_text ? ".encoded" : ".documents");
    sets.orders.push_back({.options = options, .folder = set, .files = {file}, .is_of_run = true});
    paths_ += text(paths_.empty() ? "" : "\n", set);
  }
  /// Returns the paths of these sets alone, one a line. Sets of an earlier launch may lie beside.
  const std::string& paths() const { return paths_; }

 private:
  std::string folder_, paths_;
};

int64_t bytes_of(const SetOrder& order) { return InputFile(order.files.front().path).bytes(); }

int64_t bytes_of(const std::vector<SetOrder>& orders) {
  int64_t bytes = 0;
  for (const SetOrder& order : orders) bytes += bytes_of(order);
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
  if (!made.paths().empty()) part = made.paths();
}

std::vector<std::string> files_of(const DataConfig& data, const std::string& part) {
  DataConfig one = data;
  one.train = part;
  one.train_parts.clear();
  return possible_paths(one);
}

}  // namespace

std::vector<RawFile> files_of_set(const DataOptions& options) {
  std::vector<RawFile> files;
  for (const DataPath& path : data_paths(options.data)) {
    if (path.weight > 0) {
      refuse(Exit::kUsage, "command line: --prepare: a set has no weights; prepare each part of ",
             "data.train, and mix the sets");
    }
    if (names_prepared(path.path))
      refuse(Exit::kUsage, "command line: --prepare: ", path.path, " is a prepared set already");
    files.push_back({.path = path.path});
  }
  return files;
}

RunSets sets_of_run(const DataKind& kind, const DataOptions& options, const std::string& folder,
                    int64_t most) {
  RunSets sets{.options = options};
  const Finder finder(kind, options);
  DataConfig& data = sets.options.data;
  const auto replaced = [&](std::string& part, const std::string& name, int64_t most_samples,
                            bool may_be_many) {
    // If the first documents are enough, these alone are encoded, in memory.
    if (part.empty() || (&kind == &document_data() && most_samples > 0)) return;
    const std::vector<std::string> files = files_of(options.data, part);
    if (files.size() > 1 && !may_be_many) return;  // who opens the path refuses it
    replace(part, files, {finder, options, folder + "/" + name}, sets);
  };
  if (data.train_parts.empty()) {
    const bool has_records = names_fields(data.train) || names_parquet(data.train);
    replaced(data.train, "train", data.max_train_samples, has_records);
  }
  for (DataPart& part : data.train_parts)
    replaced(part.path, "train", data.max_train_samples, true);
  replaced(data.validation, "validation", data.max_validation_samples, false);
  const int64_t bytes = bytes_of(sets.orders);
  if (bytes <= most) return {.options = options};
  for (SetOrder& order : sets.orders) {
    const double share = double(bytes_of(order)) / double(bytes);
    order.most_parts = std::max<int64_t>(1, int64_t(share * kMostParts));
  }
  return sets;
}

}  // namespace zero
