#include "io/data/label_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/file_kind.hpp"

namespace zero {
namespace {

using Names = std::vector<std::string>;

constexpr FieldWords kWords{
    .advice = "write the path of a file of texts with labels: .jsonl, .csv or .tsv",
    .keys = "data.text_fields and data.label_field",
    .record = "sample"};

/// Names in GLUE's files and in Hugging Face's columns.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPairs = {
    {{"sentence1", "sentence2"},
     {"premise", "hypothesis"},
     {"question", "sentence"},
     {"question1", "question2"},
     {"#1 String", "#2 String"},
     {"text_a", "text_b"},
     {"text1", "text2"}}};
constexpr std::array<std::string_view, 2> kTexts = {"sentence", "text"};
constexpr std::array<std::string_view, 7> kLabels = {
    "label", "labels", "Quality", "gold_label", "score", "similarity", "is_duplicate"};

bool holds(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns the known fields of texts, one or two in each element.
std::vector<Names> known_texts(const Names& names) {
  std::vector<Names> found;
  for (const auto& [first, second] : kPairs) {
    if (holds(names, first) && holds(names, second))
      found.push_back({std::string(first), std::string(second)});
  }
  for (const std::string_view text : kTexts) {
    const auto has_it = [&](const Names& pair) { return holds(pair, text); };
    if (holds(names, text) && std::ranges::none_of(found, has_it))
      found.push_back({std::string(text)});
  }
  return found;
}

/// Returns "sentence1", "sentence2".
std::string quoted(const Names& names) {
  std::string words;
  for (const std::string& name : names) words += (words.empty() ? "\"" : ", \"") + name + "\"";
  return words;
}

Names texts_among(const Names& names, const std::string& place) {
  const std::vector<Names> known = known_texts(names);
  if (known.empty()) return {"text"};
  if (known.size() == 1) return known[0];
  refuse(Exit::kInput, place, ": has several known fields of texts, ", quoted(known[0]), " and ",
         quoted(known[1]), "; write data.text_fields = [", quoted(known[0]), "] or [",
         quoted(known[1]), "]");
}

std::string label_among(const Names& names, const std::string& place) {
  Names known;
  for (const std::string_view label : kLabels) {
    if (holds(names, label)) known.emplace_back(label);
  }
  if (known.empty()) return "label";
  if (known.size() == 1) return known[0];
  refuse(Exit::kInput, place, ": has several known fields of labels, ", quoted(known),
         "; write data.label_field = \"", known[0], "\" or another of them");
}

std::vector<WantedField> wanted(const LabelFields& fields) {
  std::vector<WantedField> all;
  for (const std::string& text : fields.texts) all.push_back({.name = text});
  all.push_back({.name = fields.label, .is_text = false});
  return all;
}

void require_format(const std::string& path) {
  if (names_fields(path)) return;
  if (is_there(path)) require_records_kind(first_bytes(InputFile(path)), path);
  refuse(Exit::kInput, path, ": its name says no format of records; ", kWords.advice);
}

}  // namespace

LabelFields choose_label_fields(const LabelFields& written, const Names& names,
                                const std::string& place) {
  LabelFields fields{.texts = written.texts.empty() ? texts_among(names, place) : written.texts,
                     .label = written.label.empty() ? label_among(names, place) : written.label};
  Names all = fields.texts;
  all.push_back(fields.label);
  std::ranges::sort(all);
  const auto twice = std::ranges::adjacent_find(all);
  if (twice == all.end()) return fields;
  refuse(Exit::kInput, place, ": the field \"", *twice, "\" would be read twice; write other ",
         "names in data.text_fields and data.label_field");
}

LabelFile::LabelFile(const std::string& path, const LabelFields& written) {
  require_format(path);
  const auto choose = [&](const Names& names, const std::string& place) {
    fields_ = choose_label_fields(written, names, place);
    return wanted(fields_);
  };
  file_ = open_field_file(path, choose, kWords);
}

LabelledTexts LabelFile::read(int64_t record) const {
  std::vector<JsonScalar> values = file_->read(record);
  LabelledTexts found{.texts = {}, .label = std::move(values.back())};
  values.pop_back();
  for (JsonScalar& text : values) found.texts.push_back(std::get<std::string>(std::move(text)));
  return found;
}

}  // namespace zero
