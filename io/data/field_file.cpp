#include "io/data/field_file.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <string_view>

#include "io/data/data_file.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

using Splitter = std::string (*)(std::string_view record, std::vector<std::string>& fields);

/// Returns the keys of a path joined by dots.
std::string joined(JsonSink::Path path) {
  std::string name;
  for (const std::string& key : path) name += (name.empty() ? "" : ".") + key;
  return name;
}

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

/// A receiver of the wanted fields of an object.
class Fields : public JsonSink {
 public:
  Fields(const std::string& place, const std::vector<WantedField>& wanted, const FieldWords& words)
      : place_(place),
        wanted_(wanted),
        words_(words),
        values_(wanted.size()),
        in_array_(wanted.size()) {}

  void open(Path path, bool is_array) override {
    if (is_array) note_list(path);
    for (size_t i = 0; is_array && i < wanted_.size(); ++i) {
      if (behind(path, wanted_[i].name)) in_array_[i] = true;
    }
  }
  void value(Path path, const JsonScalar& value) override {
    if (std::holds_alternative<std::string>(value)) {
      note(path);
      note_below_lists(path);
    }
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (behind(path, wanted_[i].name) == "") take(i, value);
    }
  }
  std::vector<JsonScalar> take_values() {
    std::vector<JsonScalar> out;
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (!values_[i]) refuse_missing(wanted_[i]);
      out.push_back(std::move(*values_[i]));
    }
    return out;
  }

 private:
  /// A list in the object whose elements may be the records, by the texts in them.
  struct List {
    std::vector<std::string> path;
    std::vector<bool> has;  ///< [wanted] it has texts of the wanted names
    bool is_plain = true;   ///< no list stands directly in it
  };

  [[noreturn]] void refuse_missing(const WantedField& field) const {
    for (const List& list : lists_) {
      if (list.is_plain && std::ranges::all_of(list.has, std::identity())) refuse_list(list);
    }
    refuse(Exit::kInput, place_, ": has no ", field.is_text ? "text" : "value", " \"",
           shown(field.name), "\"", there_, "; ", words_.keys, " name them");
  }

  /// Notes a list. Elements of a list have its path.
  void note_list(Path path) {
    constexpr size_t kMostLists = 8;
    for (List& list : lists_) {
      if (!begins_with(path, list.path)) continue;
      list.is_plain = list.is_plain && path.size() > list.path.size();
      return;
    }
    if (!path.empty() && lists_.size() < kMostLists)
      lists_.push_back(
          {.path = {path.begin(), path.end()}, .has = std::vector<bool>(wanted_.size())});
  }
  void note_below_lists(Path path) {
    for (List& list : lists_) {
      if (!begins_with(path, list.path)) continue;
      const Path rest = path.subspan(list.path.size());
      for (size_t i = 0; i < wanted_.size(); ++i) {
        if (behind(rest, wanted_[i].name) == "") list.has[i] = true;
      }
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
    const std::string name = joined(path);
    if (name == last_there_ || ++texts_there_ > kMostNamed) return;
    there_ += (there_.empty() ? " but \"" : ", \"") + shown(name) + "\"";
    last_there_ = name;
  }
  void take(size_t field, const JsonScalar& value) {
    const std::string name = "\"" + shown(wanted_[field].name) + "\"";
    const char* kind = wanted_[field].is_text ? "text" : "value";
    if (in_array_[field]) {
      refuse(Exit::kInput, place_, ": ", name, " is no ", kind, " but an array, or in one; write ",
             "one object a line, with a ", kind, " in each field");
    }
    if (wanted_[field].is_text) require_text(name, value);
    if (values_[field]) refuse(Exit::kInput, place_, ": ", name, " stands there twice");
    values_[field] = value;
  }
  void require_text(const std::string& name, const JsonScalar& value) const {
    if (std::holds_alternative<std::string>(value)) return;
    if (std::holds_alternative<std::nullptr_t>(value)) {
      refuse(Exit::kInput, place_, ": ", name,
             " is no text but null; write \"\" for an empty text, or leave the line out");
    }
    refuse(Exit::kInput, place_, ": ", name, " is no text but a ",
           std::holds_alternative<bool>(value) ? "boolean" : "number", "; put it in quotes");
  }

  const std::string& place_;
  const std::vector<WantedField>& wanted_;
  FieldWords words_;
  std::vector<std::optional<JsonScalar>> values_;  ///< [wanted]
  std::vector<bool> in_array_;                     ///< [wanted]
  std::vector<List> lists_;
  std::string there_, last_there_;
  size_t texts_there_ = 0;
};

/// True for a line that holds only part of an object, as in files formatted for people.
bool is_part(std::string_view line) {
  const size_t last = line.find_last_not_of(" \t\r");
  return last != line.npos && line[last] != '}';
}

/// A receiver of the names of an object's values, but not of those in lists.
class Names : public JsonSink {
 public:
  explicit Names(std::vector<std::string>& out) : out_(out) {}

  void open(Path path, bool is_array) override {
    if (is_array && !is_in_list(path)) list_.assign(path.begin(), path.end());
  }
  void value(Path path, const JsonScalar&) override {
    if (!is_in_list(path)) out_.push_back(joined(path));
  }

 private:
  bool is_in_list(Path path) const {
    return !list_.empty() && path.size() >= list_.size() &&
           std::ranges::equal(path.first(list_.size()), list_);
  }

  std::vector<std::string>& out_;
  std::vector<std::string> list_;  ///< path of the last list that is in no other
};

/// A reader of JSON lines.
class JsonFields : public FieldFile {
 public:
  JsonFields(std::shared_ptr<const RecordFile> lines, const FieldChoice& choose,
             const FieldWords& words)
      : file_(std::move(lines)), words_(words) {
    const bool is_empty = JsonFields::records() == 0;
    if (is_empty && file_->is_whole()) file_->damaged(0, "holds blank lines alone; ", words.advice);
    fields_ = choose(is_empty ? std::vector<std::string>() : names(), JsonFields::place(0));
    // Read a single line at once: if it holds a list of all records, the user learns that first.
    if (JsonFields::records() == 1) JsonFields::read(0);
  }

  std::string format() const override { return "JSON lines"; }
  int64_t records() const override { return file_->records() - file_->blank_at_end(); }
  int64_t blank_lines() const override { return file_->blank_at_end(); }
  const std::vector<WantedField>& fields() const override { return fields_; }
  std::vector<JsonScalar> read(int64_t record) const override {
    const std::string name = place(record);
    Fields found(name, fields_, words_);
    parse(record, found);
    return found.take_values();
  }
  std::string place(int64_t record) const override { return file_->place(record); }
  uint64_t fingerprint() const override { return file_->fingerprint(); }

 private:
  void parse(int64_t record, JsonSink& sink) const {
    std::string room;
    const std::string_view line = file_->read(record, room);
    require_object(*file_, record, line);
    read_json(line, file_->place(record), kLineLimits, sink);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    Names sink(all);
    parse(0, sink);
    return all;
  }
  std::shared_ptr<const RecordFile> file_;
  FieldWords words_;
  std::vector<WantedField> fields_;
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
class TableFields : public FieldFile {
 public:
  TableFields(const std::string& path, const FieldChoice& choose, const FieldWords& words)
      : split_(path.ends_with(".csv") ? split_csv : split_at_tabs),
        file_(path, words.advice,
              split_ == split_csv ? RecordEnd::quoted_line : RecordEnd::tabbed_line),
        words_(words) {
    if (file_.records() == file_.blank_at_end())
      file_.damaged(0, "holds blank lines alone; ", words.advice);
    names_ = row(0);
    fields_ = choose(names_, file_.place(0));
    for (const WantedField& field : fields_) columns_.push_back(column_of(field.name));
    if (TableFields::records() == 0) file_.damaged(0, "nothing follows the names of the fields");
  }

  std::string format() const override { return split_ == split_csv ? "CSV" : "TSV"; }
  int64_t records() const override { return file_.records() - file_.blank_at_end() - 1; }
  int64_t blank_lines() const override { return file_.blank_at_end(); }
  const std::vector<WantedField>& fields() const override { return fields_; }
  std::vector<JsonScalar> read(int64_t record) const override {
    const std::vector<std::string> found = row(record + 1);
    if (found.size() != names_.size()) {
      file_.damaged(record + 1, "has ", counted(int64_t(found.size()), "field"),
                    ", the first line ", names_.size());
    }
    std::vector<JsonScalar> values;
    for (const size_t column : columns_) values.emplace_back(found[column]);
    return values;
  }
  std::string place(int64_t record) const override { return file_.place(record + 1); }
  uint64_t fingerprint() const override { return file_.fingerprint(); }

 private:
  std::vector<std::string> row(int64_t number) const {
    std::string room;
    std::vector<std::string> fields;
    const std::string wrong = split_(file_.read(number, room), fields);
    if (!wrong.empty()) file_.damaged(number, wrong);
    return fields;
  }
  size_t column_of(const std::string& name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end() || std::find(found + 1, names_.end(), name) != names_.end()) {
      std::string all;
      for (const std::string& one : names_) all += (all.empty() ? "" : ", ") + one;
      file_.damaged(0, found == names_.end() ? "names no field \"" : "names twice the field \"",
                    shown(name), "\" but ", shown(all), remedy_for(all));
    }
    return size_t(found - names_.begin());
  }

  /// Returns advice for a first line without the names.
  std::string remedy_for(const std::string& first) const {
    const bool is_csv = split_ == split_csv;
    const std::string other = is_csv ? ".tsv" : ".csv";
    if (names_.size() == 1 && first.find(is_csv ? '\t' : ',') != first.npos)
      return text("; fields of a file of this name end with a ", is_csv ? "comma" : "tab",
                  ", so call it ", other);
    if (names_.size() == 1 && first.find(';') != first.npos) {
      return text(
          "; its fields end with semicolons, so write commas: python3 -c \"import csv, sys; ",
          "csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter=';'))\" < ",
          file_.path(), " > NEW.csv");
    }
    return text("; ", words_.keys, " say which to take; where this line is a ", words_.record,
                " already, put a line with the names in front of it");
  }

  Splitter split_;
  RecordFile file_;
  FieldWords words_;
  std::vector<std::string> names_;  ///< [columns]
  std::vector<WantedField> fields_;
  std::vector<size_t> columns_;  ///< [fields]
};

}  // namespace

bool names_json(const std::string& path) {
  constexpr std::string_view kPacked = ".zst";
  std::string_view name = path;
  if (name.ends_with(kPacked)) name.remove_suffix(kPacked.size());
  return name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".json");
}

bool names_fields(const std::string& path) {
  return names_json(path) || path.ends_with(".csv") || path.ends_with(".tsv");
}

void require_object(const RecordFile& lines, int64_t record, std::string_view line) {
  if (is_blank(line)) lines.damaged(record, "is blank; remove it, as each line is one object");
  if (!is_part(line)) return;
  lines.damaged(record, "holds \"", shown(line),
                "\", which is no whole object; write one object a ",
                "line, as jq -c '.[]' makes them of a list and jq -c . of objects");
}

std::unique_ptr<FieldFile> open_json_fields(std::shared_ptr<const RecordFile> lines,
                                            const FieldChoice& choose, const FieldWords& words) {
  return std::make_unique<JsonFields>(std::move(lines), choose, words);
}

std::unique_ptr<FieldFile> open_field_file(const std::string& path, const FieldChoice& choose,
                                           const FieldWords& words) {
  ZERO_REQUIRE(names_fields(path), path, ": its name says no format of records");
  if (path.ends_with(".csv") || path.ends_with(".tsv"))
    return std::make_unique<TableFields>(path, choose, words);
  return open_json_fields(std::make_shared<RecordFile>(path, words.advice, RecordEnd::line), choose,
                          words);
}

}  // namespace zero
