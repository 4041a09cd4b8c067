#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace zero::report {

enum class TableForm { aligned, csv, tsv };

/// The columns of a table. Columns of evaluations.jsonl begin with "eval_".
struct TableOptions {
  TableForm form = TableForm::aligned;
  std::vector<std::string> columns = {};  ///< empty: all
};

/// Prints metrics.jsonl and evaluations.jsonl in the folder `run` to `out`, as one table with a row
/// for each step. A repeated step stands there once, with its latest values. "nan" is a number that
/// is not finite. A file has at most 64 columns; later ones bring a warning. The aligned form is
/// plain text for a terminal, the others keep the bytes of the file. Throws Error(kInput) for a
/// folder of no run. Throws Error(kUsage), which lists the columns, for an unknown one.
void print_metrics(const std::string& run, const TableOptions& options, std::FILE* out);

}  // namespace zero::report
