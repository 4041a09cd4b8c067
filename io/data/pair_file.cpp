#include "io/data/pair_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/file_kind.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

using Splitter = std::string (*)(std::string_view record, std::vector<std::string>& fields);

/// A reader of pairs in two files, line by line.
class LinePairs : public PairFile {
 public:
  explicit LinePairs(const std::string& path)
      : source_(path, kPairFileAdvice, RecordEnd::line),
        target_(target_path(path), text("its lines are the targets of ", path), RecordEnd::line),
        pairs_(std::max(lines(source_), lines(target_))) {
    if (pairs_ == 0) refuse(Exit::kInput, path, ": holds blank lines alone; ", kPairFileAdvice);
    // A blank line beside a text counts as a line, at the end too.
    if (pairs_ <= source_.records() && pairs_ <= target_.records()) return;
    refuse(Exit::kInput, path, ": has ", counted(source_.records(), "line"), ", but ",
           target_.path(), " beside it has ", target_.records(),
           "; lines of the same number are pairs");
  }

  std::string format() const override { return "lines, whose targets are those of .target"; }
  int64_t pairs() const override { return pairs_; }
  int64_t blank_lines() const override {
    return source_.records() - pairs_ + target_.records() - pairs_;
  }
  TextPair read(int64_t pair) const override {
    std::string source, target;
    return {.source = std::string(source_.read(pair, source)),
            .target = std::string(target_.read(pair, target))};
  }
  std::string place(int64_t pair) const override { return source_.place(pair); }
  uint64_t fingerprint() const override {
    // Multiplying by an odd number keeps every bit, and tells source from target.
    return (source_.fingerprint() * 0x9E3779B97F4A7C15u) ^ target_.fingerprint();
  }

 private:
  static int64_t lines(const RecordFile& file) { return file.records() - file.blank_at_end(); }

  RecordFile source_, target_;
  int64_t pairs_;
};

/// Limits of a line, which may hold nested values around the texts.
constexpr JsonLimits kLimits{.depth = 32, .keys = 1 << 12};

/// Returns the rest of `name` after the keys of a path, joined by dots: "" if they are the name,
/// ".en" if they lead to it, none if they lead elsewhere.
std::optional<std::string_view> behind(JsonSink::Path path, std::string_view name) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (i > 0 && !name.starts_with('.')) return std::nullopt;
    if (i > 0) name.remove_prefix(1);
    if (!name.starts_with(path[i])) return std::nullopt;
    name.remove_prefix(path[i].size());
  }
  if (name.empty() || name.starts_with('.')) return name;
  return std::nullopt;
}

/// A receiver of two fields of an object.
class Fields : public JsonSink {
 public:
  Fields(const std::string& place, const PairFields& names)
      : place_(place), names_{names.source, names.target} {}

  void open(Path path, bool is_array) override {
    if (is_array) note_list(path);
    for (size_t i = 0; is_array && i < names_.size(); ++i) {
      in_array_[i] = in_array_[i] || behind(path, names_[i]).has_value();
    }
  }
  void value(Path path, const JsonScalar& value) override {
    if (std::holds_alternative<std::string>(value)) {
      note(path);
      note_below_lists(path);
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      if (behind(path, names_[i]) == "") take(i, value);
    }
  }
  TextPair pair() {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (texts_[i]) continue;
      for (const List& list : lists_) {
        if (list.is_plain && list.has[0] && list.has[1]) refuse_list(list);
      }
      refuse(Exit::kInput, place_, ": has no text \"", shown(names_[i]), "\"", there_,
             "; data.source_field and data.target_field name them");
    }
    return {.source = std::move(*texts_[0]), .target = std::move(*texts_[1])};
  }

 private:
  /// A list in the object whose elements may be the pairs, by the texts in them.
  struct List {
    std::vector<std::string> path;
    std::array<bool, 2> has = {};  ///< it has texts of the wanted names
    bool is_plain = true;          ///< no list stands directly in it
  };

  /// Notes a list. Elements of a list have its path.
  void note_list(Path path) {
    constexpr size_t kMostLists = 8;
    for (List& list : lists_) {
      if (!begins_with(path, list.path)) continue;
      list.is_plain = list.is_plain && path.size() > list.path.size();
      return;
    }
    if (!path.empty() && lists_.size() < kMostLists)
      lists_.push_back({.path = {path.begin(), path.end()}});
  }
  void note_below_lists(Path path) {
    for (List& list : lists_) {
      if (!begins_with(path, list.path)) continue;
      const Path rest = path.subspan(list.path.size());
      for (size_t i = 0; i < names_.size(); ++i)
        list.has[i] = list.has[i] || behind(rest, names_[i]) == "";
    }
  }
  static bool begins_with(Path path, const std::vector<std::string>& front) {
    return path.size() >= front.size() && std::ranges::equal(path.first(front.size()), front);
  }
  [[noreturn]] void refuse_list(const List& list) const {
    std::string path;
    for (const std::string& key : list.path) path += "." + (is_word(key) ? key : "\"" + key + "\"");
    refuse(Exit::kInput, place_, ": is one object with a list of objects in it, \"",
           shown(path.substr(1)), "\"; write one object a line: jq -c '", shown(path),
           "[]' FILE > NEW.jsonl");
  }
  static bool is_word(const std::string& key) {
    return std::ranges::all_of(key, [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; });
  }
  /// Notes the names of some texts for the message about a missing one.
  void note(Path path) {
    constexpr size_t kMostNamed = 6;
    std::string name;
    for (const std::string& key : path) name += (name.empty() ? "" : ".") + key;
    if (name == last_there_ || ++texts_there_ > kMostNamed) return;
    there_ += (there_.empty() ? " but \"" : ", \"") + shown(name) + "\"";
    last_there_ = name;
  }
  void take(size_t field, const JsonScalar& value) {
    const std::string* text = std::get_if<std::string>(&value);
    const std::string name = "\"" + shown(names_[field]) + "\"";
    if (in_array_[field]) {
      refuse(Exit::kInput, place_, ": ", name, " is no text but an array, or in one; write one ",
             "object a line, with a text in each field");
    }
    if (std::holds_alternative<std::nullptr_t>(value)) {
      refuse(Exit::kInput, place_, ": ", name,
             " is no text but null; write \"\" for an empty text, or leave the line out");
    }
    if (!text) {
      refuse(Exit::kInput, place_, ": ", name, " is no text but a ",
             std::holds_alternative<bool>(value) ? "boolean" : "number", "; put it in quotes");
    }
    if (texts_[field]) {
      refuse(Exit::kInput, place_, ": \"", shown(names_[field]), "\" stands there twice");
    }
    texts_[field] = *text;
  }

  const std::string& place_;
  std::array<std::string, 2> names_;
  std::array<std::optional<std::string>, 2> texts_;
  std::array<bool, 2> in_array_ = {};
  std::vector<List> lists_;
  std::string there_, last_there_;
  size_t texts_there_ = 0;
};

/// True for a line that holds only part of an object, as in files formatted for people.
bool is_part(std::string_view line) {
  const size_t last = line.find_last_not_of(" \t\r");
  return last != line.npos && line[last] != '}';
}

class JsonPairs : public PairFile {
 public:
  JsonPairs(const std::string& path, const PairFields& fields)
      : file_(path, kPairFileAdvice, RecordEnd::line), fields_(fields) {
    if (pairs() == 0) file_.damaged(0, "holds blank lines alone; ", kPairFileAdvice);
    // Read a single line at once: if it holds a list of all pairs, the user learns that first.
    if (JsonPairs::pairs() == 1) JsonPairs::read(0);
  }

  std::string format() const override { return "JSON lines"; }
  int64_t pairs() const override { return file_.records() - file_.blank_at_end(); }
  int64_t blank_lines() const override { return file_.blank_at_end(); }
  TextPair read(int64_t pair) const override {
    std::string room;
    const std::string name = place(pair);
    const std::string_view line = file_.read(pair, room);
    require_object(line, pair);
    Fields found(name, fields_);
    read_json(line, name, kLimits, found);
    return found.pair();
  }
  std::string place(int64_t pair) const override { return file_.place(pair); }
  uint64_t fingerprint() const override { return file_.fingerprint(); }

 private:
  /// Throws Error(kInput) with the right form for a line that cannot be an object.
  void require_object(std::string_view line, int64_t pair) const {
    if (is_blank(line)) file_.damaged(pair, "is blank; remove it, as each line is one object");
    if (!is_part(line)) return;
    file_.damaged(pair, "holds \"", shown(line),
                  "\", which is no whole object; write one object a ",
                  "line, as jq -c '.[]' makes them of a list and jq -c . of objects");
  }

  RecordFile file_;
  PairFields fields_;
};

/// A splitter fills the fields of a record and returns "", or the fault.

std::string split_at_tabs(std::string_view record, std::vector<std::string>& fields) {
  for (size_t begin = 0; begin <= record.size();) {
    const size_t end = std::min(record.find('\t', begin), record.size());
    fields.emplace_back(record.substr(begin, end - begin));
    begin = end + 1;
  }
  return "";
}

/// Reads the quoted field of a CSV record at `at` and moves `at` past it. Returns the fault or "".
std::string take_quoted(std::string_view record, size_t& at, std::string& field) {
  for (++at; at < record.size(); ++at) {
    if (record[at] != '"') {
      field += record[at];
    } else if (at + 1 < record.size() && record[at + 1] == '"') {
      field += record[at++];
    } else {
      ++at;
      if (at == record.size() || record[at] == ',') return "";
      return text("column ", at + 1, ": text behind a closing double quote; write \"\" for one");
    }
  }
  return "a double quote is never closed";
}

std::string take_plain(std::string_view record, size_t& at, std::string& field) {
  const size_t end = std::min(record.find(',', at), record.size());
  field = record.substr(at, end - at);
  const size_t quote = field.find('"');
  if (quote != field.npos) {
    return text("column ", at + quote + 1,
                ": a double quote in a field without quotes around it; put it in quotes, and "
                "write \"\" for one");
  }
  at = end;
  return "";
}

std::string split_csv(std::string_view record, std::vector<std::string>& fields) {
  for (size_t at = 0; at <= record.size(); ++at) {
    const bool quoted = at < record.size() && record[at] == '"';
    std::string& field = fields.emplace_back();
    const std::string wrong =
        quoted ? take_quoted(record, at, field) : take_plain(record, at, field);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

/// A reader of a table whose first record names its fields.
class TablePairs : public PairFile {
 public:
  TablePairs(const std::string& path, const PairFields& fields, RecordEnd end, Splitter split)
      : file_(path, kPairFileAdvice, end), split_(split) {
    if (file_.records() == file_.blank_at_end())
      file_.damaged(0, "holds blank lines alone; ", kPairFileAdvice);
    const std::vector<std::string> names = record(0);
    columns_ = names.size();
    source_ = column_of(names, fields.source);
    target_ = column_of(names, fields.target);
    if (pairs() == 0) file_.damaged(0, "nothing follows the names of the fields");
  }

  std::string format() const override { return split_ == split_csv ? "CSV" : "TSV"; }
  int64_t pairs() const override { return file_.records() - file_.blank_at_end() - 1; }
  int64_t blank_lines() const override { return file_.blank_at_end(); }
  TextPair read(int64_t pair) const override {
    std::vector<std::string> fields = record(pair + 1);
    if (fields.size() != columns_) {
      file_.damaged(pair + 1, "has ", counted(int64_t(fields.size()), "field"), ", the first line ",
                    columns_);
    }
    return {.source = fields[source_], .target = fields[target_]};
  }
  std::string place(int64_t pair) const override { return file_.place(pair + 1); }
  uint64_t fingerprint() const override { return file_.fingerprint(); }

 private:
  std::vector<std::string> record(int64_t number) const {
    std::string room;
    std::vector<std::string> fields;
    const std::string wrong = split_(file_.read(number, room), fields);
    if (!wrong.empty()) file_.damaged(number, wrong);
    return fields;
  }
  size_t column_of(const std::vector<std::string>& names, const std::string& name) const {
    const auto found = std::ranges::find(names, name);
    if (found == names.end() || std::find(found + 1, names.end(), name) != names.end()) {
      std::string all;
      for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
      file_.damaged(0, found == names.end() ? "names no field \"" : "names twice the field \"",
                    shown(name), "\" but ", shown(all), remedy_for(all, names));
    }
    return size_t(found - names.begin());
  }

  /// Returns advice for a first line without the names.
  std::string remedy_for(const std::string& first, const std::vector<std::string>& names) const {
    const bool is_csv = split_ == split_csv;
    const std::string other = is_csv ? ".tsv" : ".csv";
    if (names.size() == 1 && first.find(is_csv ? '\t' : ',') != first.npos)
      return text("; fields of a file of this name end with a ", is_csv ? "comma" : "tab",
                  ", so call it ", other);
    if (names.size() == 1 && first.find(';') != first.npos) {
      return text(
          "; its fields end with semicolons, so write commas: python3 -c \"import csv, sys; ",
          "csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter=';'))\" < ",
          file_.path(), " > NEW.csv");
    }
    return text("; data.source_field and data.target_field say which to take; where this line is ",
                "a pair already, put a line with the names in front of it");
  }

  RecordFile file_;
  Splitter split_;
  size_t columns_ = 0, source_ = 0, target_ = 0;
};

std::unique_ptr<PairFile> open_line_pairs(const std::string& path) {
  return std::make_unique<LinePairs>(path);
}

std::unique_ptr<PairFile> open_json_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<JsonPairs>(path, fields);
}

std::unique_ptr<PairFile> open_csv_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<TablePairs>(path, fields, RecordEnd::quoted_line, split_csv);
}

std::unique_ptr<PairFile> open_tsv_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<TablePairs>(path, fields, RecordEnd::tabbed_line, split_at_tabs);
}

}  // namespace

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
  if (is_there(path)) require_records_kind(first_bytes(InputFile(path)), path);
  refuse(Exit::kInput, path, ": its name says no format of pairs; ", kPairFileAdvice,
         ", or data.noise_density = 0.15 where it is a text without pairs");
}

}  // namespace zero
