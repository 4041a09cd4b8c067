#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/report/metrics_table.hpp"
#include "zero/report/report.hpp"
#include "zero/report/top.hpp"
#include "zero/report/why.hpp"

namespace zero::commands {
namespace {

/// Returns words between commas.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// Returns lines that are written over those on a terminal. An emptied screen would flicker.
std::string over_the_screen(const std::string& lines) {
  std::string out = "\033[H";
  for (const char c : lines) out += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
  return out + "\033[J";
}

}  // namespace

int metrics(const CommandLine& line) {
  if (line.csv && line.tsv) refuse(Exit::kUsage, "command line: --csv: write it or --tsv");
  using zero::report::TableForm;
  const TableForm form = line.csv ? TableForm::csv : line.tsv ? TableForm::tsv : TableForm::aligned;
  zero::report::print_metrics(line.input, {.form = form, .columns = split(line.columns)}, stdout);
  return 0;
}

int top(const CommandLine& line) {
  using std::chrono::seconds;
  constexpr int kLooksAtSlurm = 60;
  if (!line.once && isatty(STDOUT_FILENO) == 0)
    refuse(Exit::kUsage, "command line: top: standard output is no terminal; write --once");
  double job_seconds = -1;
  for (int look = 0;; ++look) {
    if (look % kLooksAtSlurm == 0) job_seconds = zero::report::job_seconds_left(line.input);
    const std::string words = zero::report::top_text(
        line.input, job_seconds < 0 ? -1 : job_seconds - look % kLooksAtSlurm);
    std::fputs(line.once ? words.c_str() : over_the_screen(words).c_str(), stdout);
    std::fflush(stdout);
    if (line.once || zero::report::has_ended(line.input)) return 0;
    std::this_thread::sleep_for(seconds(1));
  }
}

int report(const CommandLine& line) {
  std::vector<std::string> runs = {line.input};
  runs.insert(runs.end(), line.more.begin(), line.more.end());
  const std::string path = line.output.empty() ? "report.html" : line.output;
  zero::report::write_report(runs, path);
  std::printf("%s\n", path.c_str());
  return 0;
}

int why(const CommandLine& line) {
  std::fputs(zero::report::why(line.input).c_str(), stdout);
  return 0;
}

}  // namespace zero::commands
