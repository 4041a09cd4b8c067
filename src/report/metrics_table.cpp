#include "zero/report/metrics_table.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "src/report/escaped_text.hpp"
#include "src/report/metrics_reader.hpp"
#include "src/report/run_path.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::report {
namespace {

constexpr size_t kWindowBytes = size_t(1) << 20;

/// A column and its widest cell.
struct TableColumn {
  std::string name;
  size_t width;
};

std::string_view cell_of(const LineValue& value) {
  return !value.is_text && value.text == "null" ? "nan" : value.text;
}

/// A file of a run with the places of its valid lines.
class Rows {
 public:
  struct Row {
    int64_t step, offset;
    size_t bytes;
  };

  Rows(const std::string& path, std::string_view prefix) : prefix_(prefix) {
    const int64_t damaged = read_steps(path, {.drop_from = [&](int64_t step) { drop_from(step); },
                                              .take = [&](const StepLine& line) { take(line); }});
    if (damaged > 0) warn(path, ": ", counted(damaged, "damaged line"), " passed over");
    if (has_more_) warn(path, ": has more than ", kMostColumns, " names; later ones passed over");
    if (!rows_.empty()) file_.emplace(path);
  }

  const std::vector<TableColumn>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

  /// Reads the values of a row. They live until the next call.
  const LineValues& read(const Row& row) {
    const bool is_here =
        row.offset >= begin_ && row.offset + int64_t(row.bytes) <= begin_ + int64_t(window_.size());
    if (!is_here) load(row);
    read_line(std::string_view(window_).substr(size_t(row.offset - begin_), row.bytes), values_);
    return values_;
  }
  /// Returns a value by the name of its column.
  std::string_view cell(const LineValues& values, std::string_view column) const {
    if (!column.starts_with(prefix_)) return "";
    const LineValue* value = find_value(values, column.substr(prefix_.size()));
    return value ? cell_of(*value) : "";
  }

 private:
  void drop_from(int64_t step) {
    while (!rows_.empty() && rows_.back().step >= step) rows_.pop_back();
  }
  void take(const StepLine& line) {
    rows_.push_back({line.step, line.offset, line.text.size()});
    for (size_t i = 0; i < line.values.size(); ++i) {
      const LineValue& value = line.values[i];
      if (value.name == "step" && !prefix_.empty()) continue;
      TableColumn* column = column_of(value.name, i);
      if (column) column->width = std::max(column->width, cell_of(value).size());
    }
  }
  /// Returns a column, or null beyond kMostColumns. Most lines have the same names at the same
  /// places.
  TableColumn* column_of(std::string_view name, size_t place) {
    const size_t near = place - size_t(!prefix_.empty());
    const auto is_named = [&](const TableColumn& column) {
      return std::string_view(column.name).substr(prefix_.size()) == name;
    };
    if (near < columns_.size() && is_named(columns_[near])) return &columns_[near];
    const auto found = std::ranges::find_if(columns_, is_named);
    if (found != columns_.end()) return &*found;
    has_more_ = columns_.size() == kMostColumns;
    if (has_more_) return nullptr;
    const std::string whole = text(prefix_, name);
    return &columns_.emplace_back(TableColumn{whole, whole.size()});
  }
  void load(const Row& row) {
    const int64_t left = file_->bytes() - row.offset;
    window_.resize(size_t(std::min(left, int64_t(std::max(kWindowBytes, row.bytes)))));
    begin_ = row.offset;
    file_->read(begin_, std::as_writable_bytes(std::span(window_)));
  }

  std::string_view prefix_;
  std::vector<Row> rows_;
  std::vector<TableColumn> columns_;
  bool has_more_ = false;  ///< than kMostColumns
  std::optional<InputFile> file_;
  int64_t begin_ = 0;
  std::string window_;
  LineValues values_;
};

std::vector<TableColumn> chosen(const std::vector<TableColumn>& all,
                                const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<std::string> known;
  std::string list;
  for (const TableColumn& column : all) {
    known.push_back(column.name);
    list += (list.empty() ? "" : ", ") + plain(column.name);
  }
  std::vector<TableColumn> columns;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &TableColumn::name);
    if (found == all.end()) {
      const std::string near = nearest_key(name, known);
      refuse(Exit::kUsage, "command line: --columns: \"", name, "\" is no column of the run; ",
             near.empty() ? "they are: " + list : "did you mean " + plain(near) + "?");
    }
    columns.push_back(*found);
  }
  return columns;
}

/// Returns a cell of a CSV file, in quotes if it needs them. A TSV file needs none, because texts
/// with control characters are damaged.
std::string quoted(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == cell.npos) return std::string(cell);
  std::string out = "\"";
  for (const char c : cell) out += text(c == '"' ? "\"" : "", c);
  return out + "\"";
}

/// A printer of the rows of one table.
class Printer {
 public:
  Printer(std::vector<TableColumn> columns, TableForm form, std::FILE* out)
      : columns_(std::move(columns)), form_(form), out_(out) {}
  ~Printer() { flush(); }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  void head() {
    row([](std::string_view name) { return name; });
  }
  /// Prints a row. `cell_at` returns the text of a column.
  template <class CellAt>
  void row(const CellAt& cell_at) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = cell_at(std::string_view(columns_[i].name));
      if (i > 0) line_ += form_ == TableForm::csv ? "," : form_ == TableForm::tsv ? "\t" : "  ";
      add(cell, columns_[i].width);
    }
    line_ += '\n';
    if (line_.size() > kWindowBytes) flush();
  }

 private:
  void add(std::string_view cell, size_t width) {
    if (form_ == TableForm::csv) {
      line_ += quoted(cell);
    } else if (form_ == TableForm::tsv) {
      line_ += cell;
    } else {
      const std::string shown = cell.empty() ? "-" : plain(cell);
      line_.append(width - std::min(width, shown.size()), ' ');
      line_ += shown;
    }
  }
  void flush() {
    std::fwrite(line_.data(), 1, line_.size(), out_);
    line_.clear();
  }

  std::vector<TableColumn> columns_;
  TableForm form_;
  std::FILE* out_;
  std::string line_;
};

/// Prints the rows of both files in the order of their steps.
void print_rows(Rows& steps, Rows& evaluations, Printer& printer) {
  static const LineValues kNone;
  auto step = steps.rows().begin();
  auto evaluation = evaluations.rows().begin();
  while (step != steps.rows().end() || evaluation != evaluations.rows().end()) {
    const bool has_step = step != steps.rows().end() && (evaluation == evaluations.rows().end() ||
                                                         step->step <= evaluation->step);
    const int64_t number = has_step ? step->step : evaluation->step;
    const bool has_evaluation =
        evaluation != evaluations.rows().end() && evaluation->step == number;
    const LineValues& left = has_step ? steps.read(*step++) : kNone;
    const LineValues& right = has_evaluation ? evaluations.read(*evaluation++) : kNone;
    const std::string digits = std::to_string(number);
    printer.row([&](std::string_view name) -> std::string_view {
      if (name == "step") return digits;
      const std::string_view cell = steps.cell(left, name);
      return cell.empty() ? evaluations.cell(right, name) : cell;
    });
  }
}

}  // namespace

void print_metrics(const std::string& run, const TableOptions& options, std::FILE* out) {
  require_run(run);
  Rows steps(run + "/metrics.jsonl", ""), evaluations(run + "/evaluations.jsonl", "eval_");
  std::vector<TableColumn> all = steps.columns();
  if (all.empty()) all.push_back({"step", 4});
  const std::vector<TableColumn>& more = evaluations.columns();
  all.insert(all.end(), more.begin(), more.end());
  Printer printer(chosen(all, options.columns), options.form, out);
  printer.head();
  print_rows(steps, evaluations, printer);
}

}  // namespace zero::report
