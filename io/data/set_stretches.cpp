#include "io/data/set_stretches.hpp"

#include <algorithm>
#include <numeric>

#include "io/data/data_file.hpp"
#include "io/data/field_file.hpp"
#include "io/data/parquet_file.hpp"
#include "io/data/text_stretch.hpp"
#include "io/data/token_source.hpp"

namespace zero {
namespace {

constexpr int64_t kCutRoom = int64_t(1) << 20;  // bytes in which a text has a cut
constexpr const char* kAdvice =
    "write documents as JSON lines, a text of at most 64 MiB, or the path of a token file";

void add_groups(Stretch stretch, int64_t part_bytes, std::vector<Stretch>& all) {
  const std::vector<int64_t> groups = parquet_group_bytes(stretch.path);
  int64_t bytes = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    bytes += groups[i];
    if (bytes < part_bytes && i + 1 < groups.size()) continue;
    stretch.end = int64_t(i) + 1;
    stretch.bytes = bytes;
    all.push_back(stretch);
    stretch.begin = stretch.end;
    bytes = 0;
  }
}

}  // namespace

int64_t content_bytes(const std::string& path) {
  if (!names_parquet(path)) return InputFile(path).bytes();
  const std::vector<int64_t> groups = parquet_group_bytes(path);
  return std::accumulate(groups.begin(), groups.end(), int64_t(0));
}

void add_stretches(const RawFile& file, const std::string& path, const Encoding& encoding,
                   int64_t part, std::vector<Stretch>& all) {
  using Unit = Stretch::Unit;
  const int64_t bytes = InputFile(path).bytes();
  Stretch stretch{.path = path, .name = file.path};
  int64_t step = part, size = bytes;
  if (file.is_text) {
    stretch.unit = Unit::text;
    // Not each tokenizer's ids can be parted, and so far none need be.
    if (bytes <= std::min(4 * part, EncodedText::kMostBytes)) step = bytes;
  } else if (names_parquet(path)) {
    stretch.unit = Unit::groups;
    return add_groups(stretch, part, all);
  } else if (!names_json(file.path)) {
    stretch.unit = Unit::records;
    stretch.table = open_document_file(path, encoding.rules->fields);
    size = stretch.table->documents();
    step = std::max<int64_t>(part / std::max<int64_t>(bytes / size, 1), 1);
  }
  for (int64_t begin = 0; begin < size; begin += step) {
    stretch.begin = begin;
    stretch.end = std::min(size, begin + step);
    stretch.is_last = stretch.end == size;
    stretch.bytes = stretch.table ? part : stretch.end - begin;
    all.push_back(stretch);
  }
}

std::unique_ptr<DocumentSource> open_stretch(const Stretch& stretch, const Encoding& encoding,
                                             int64_t lines_before) {
  const auto& [rules, tokenizer] = encoding;
  if (stretch.unit == Stretch::Unit::text) {
    const DataFile file(stretch.path, kAdvice);
    const auto cut = [&, &words = tokenizer](int64_t from) {
      return from == 0 ? TextCut() : next_text_cut(file, *words, from, kCutRoom);
    };
    return std::make_unique<TextStretch>(file, tokenizer, cut(stretch.begin),
                                         cut(stretch.end).place);
  }
  if (stretch.table) return encoded_documents(stretch.table, *rules, tokenizer);
  if (stretch.unit == Stretch::Unit::groups) {
    const GroupRange groups{.begin = int(stretch.begin), .end = int(stretch.end)};
    return encoded_documents(open_parquet_documents(stretch.path, rules->fields, groups), *rules,
                             tokenizer);
  }
  LineRange range{.begin = stretch.begin, .lines_before = lines_before, .name = stretch.name};
  if (!stretch.is_last) range.end = stretch.end;
  return encoded_documents(open_document_lines(stretch.path, rules->fields, range), *rules,
                           tokenizer);
}

}  // namespace zero
