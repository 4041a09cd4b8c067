#include <algorithm>

#include "io/data/pair_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

/// The fields of a record, or what is wrong with it: an empty text where nothing is.
using Splitter = std::string (*)(std::string_view record, std::vector<std::string>& fields);

std::string split_at_tabs(std::string_view record, std::vector<std::string>& fields) {
  for (size_t begin = 0; begin <= record.size();) {
    const size_t end = std::min(record.find('\t', begin), record.size());
    fields.emplace_back(record.substr(begin, end - begin));
    begin = end + 1;
  }
  return "";
}

/// Takes the field of a CSV record that begins at `at`, which moves past it.
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

/// A table whose first record names its fields.
class TablePairs : public PairFile {
 public:
  TablePairs(const std::string& path, const PairFields& fields, RecordEnd end, Splitter split)
      : file_(path, kPairFileAdvice, end), split_(split) {
    const std::vector<std::string> names = record(0);
    columns_ = names.size();
    source_ = column_of(names, fields.source);
    target_ = column_of(names, fields.target);
    if (file_.records() == 1) file_.damaged(0, "nothing follows the names of the fields");
  }

  std::string format() const override { return split_ == split_csv ? "CSV" : "TSV"; }
  int64_t pairs() const override { return file_.records() - 1; }
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
                    shown(name), "\" but ", shown(all),
                    "; data.source_field and data.target_field say which to take");
    }
    return size_t(found - names.begin());
  }

  RecordFile file_;
  Splitter split_;
  size_t columns_ = 0, source_ = 0, target_ = 0;
};

}  // namespace

std::unique_ptr<PairFile> open_csv_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<TablePairs>(path, fields, RecordEnd::quoted_line, split_csv);
}

std::unique_ptr<PairFile> open_tsv_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<TablePairs>(path, fields, RecordEnd::line, split_at_tabs);
}

}  // namespace zero
