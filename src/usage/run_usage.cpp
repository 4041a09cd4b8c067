#include "src/usage/command_table.hpp"

namespace zero::usage {
namespace {

using Line = CommandLine;

constexpr std::string_view kStored = "DIR is a run, its folder of checkpoints, or one of them.";

Syntax ls_syntax() {
  return {.word = "ls",
          .command = Command::ls,
          .input = "DIR",
          .meaning = kStored,
          .title = "checkpoints, and which one a run goes on from",
          .options = {{.name = "--quick",
                       .argument = "",
                       .kind = &Line::quick,
                       .text = "without reading every block"},
                      json_option()},
          .examples = {"zeroapp ls runs/mine", "zeroapp ls runs/mine --quick",
                       "zeroapp ls runs/mine/checkpoints --json"},
          .ends = {Exit::kInput, Exit::kIo}};
}

Syntax fsck_syntax() {
  return {.word = "fsck",
          .command = Command::fsck,
          .input = "DIR",
          .meaning = kStored,
          .title = "checks every digest of checkpoints",
          .options = {json_option()},
          .examples = {"zeroapp fsck runs/mine", "zeroapp fsck runs/mine --json",
                       "zeroapp fsck runs/mine/checkpoints/step00000005"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

Syntax inspect_syntax() {
  return {.word = "inspect",
          .command = Command::inspect,
          .input = "A",
          .meaning = "A and B are runs, checkpoints or model folders.",
          .title = "tensors and their statistics; how two of them differ",
          .options = {json_option()},
          .second = Second::optional,
          .second_name = "B",
          .examples = {"zeroapp inspect runs/mine", "zeroapp inspect MODEL runs/mine",
                       "zeroapp inspect MODEL --json"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

Syntax metrics_syntax() {
  return {.word = "metrics",
          .command = Command::metrics,
          .input = "RUN",
          .meaning = "RUN is a run's folder. A number that is not finite is nan.",
          .title = "every step of a run as one table, with its evaluations",
          .options = {{.name = "--csv",
                       .argument = "",
                       .kind = &Line::csv,
                       .text = "commas between columns, for spreadsheets and pandas"},
                      {.name = "--tsv",
                       .argument = "",
                       .kind = &Line::tsv,
                       .text = "tabulators between columns"},
                      {.name = "--columns",
                       .argument = "A,B,...",
                       .kind = &Line::columns,
                       .text = "only these, in this order; evaluations' begin with eval_",
                       .fallback = "all"}},
          .examples = {"zeroapp metrics runs/mine", "zeroapp metrics runs/mine --csv",
                       "zeroapp metrics runs/mine --tsv --columns step,loss,step_ms"},
          .ends = {Exit::kInput, Exit::kIo}};
}

Syntax top_syntax() {
  return {.word = "top",
          .command = Command::top,
          .input = "RUN",
          .meaning = "Reads files only, the ends of long ones, and ends with the launch.",
          .title = "the last step of a live run, every second: speed, time left, ranks that lag",
          .options = {{.name = "--once",
                       .argument = "",
                       .kind = &Line::once,
                       .text = "once, for scripts"}},
          .examples = {"zeroapp top runs/mine", "zeroapp top runs/mine --once",
                       "watch -n 60 zeroapp top runs/mine --once"},
          .ends = {Exit::kInput, Exit::kIo}};
}

Syntax why_syntax() {
  return {.word = "why",
          .command = Command::why,
          .input = "RUN",
          .meaning = "Asks squeue and sacct about a launch that left no word. Job scripts end so.",
          .title = "how the last launch of a run ended, and what to do",
          .examples = {"zeroapp why runs/mine", "zeroapp why runs/mine | mail -s ended me",
                       "zeroapp why /scratch/runs/mine"},
          .ends = {Exit::kInput, Exit::kIo}};
}

Syntax explain_syntax() {
  return {
      .word = "explain",
      .command = Command::explain,
      .input = "RUN",
      .meaning =
          "Fits the machine's rates to the run's own steps, then compiles and forecasts changes, "
          "alone and in pairs. RUN may be live.",
      .title = "why a run is not faster, and which settings would change that",
      .options = {{.name = "--all",
                   .argument = "",
                   .kind = &Line::all,
                   .text = "also what is no better, too large or refused"},
                  json_option()},
      .examples = {"zeroapp explain runs/mine", "zeroapp explain runs/mine --all",
                   "zeroapp explain runs/mine --json"},
      .ends = {Exit::kInput, Exit::kIo}};
}

Syntax report_syntax() {
  return {.word = "report",
          .command = Command::report,
          .input = "RUN",
          .meaning = "Of several runs the curves lie over each other. The page fetches nothing.",
          .title = "runs as one page: loss, speed, memory, ranks, settings, ends",
          .options = {{.name = "--output",
                       .argument = "NEW",
                       .kind = &Line::output,
                       .text = "the file; with the ending .svg the picture of the loss alone",
                       .fallback = "report.html",
                       .short_name = "-o"}},
          .second = Second::more,
          .examples = {"zeroapp report runs/mine", "zeroapp report runs/a runs/b -o both.html",
                       "zeroapp report runs/mine -o loss.svg"},
          .ends = {Exit::kInput, Exit::kIo}};
}

}  // namespace

std::vector<Syntax> run_commands() {
  return {ls_syntax(),  fsck_syntax(), inspect_syntax(), metrics_syntax(),
          top_syntax(), why_syntax(),  explain_syntax(), report_syntax()};
}

}  // namespace zero::usage
