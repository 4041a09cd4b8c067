#include "src/report/why_paragraph.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/report/escaped_text.hpp"
#include "src/report/metrics_reader.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/monitor/run_log.hpp"

namespace zero::report {
namespace {

constexpr int64_t kTailBytes = int64_t(64) << 10;
constexpr int64_t kMostRecordBytes = int64_t(16) << 20;
constexpr size_t kMostNotes = 4;

/// Returns the step of the last whole line.
int64_t last_step(const std::string& run) {
  const std::string tail = last_lines(run + "/metrics.jsonl", kTailBytes);
  const std::vector<std::string_view> lines = lines_of(tail);
  LineValues values;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (read_line(*line, values) && step_in(values) > 0) return step_in(values);
  }
  return 0;
}

/// Returns "node n2: rank 3 silent for 31.0 s in step 12, all_gather".
std::string note_text(const std::string& node, const nlohmann::ordered_json& note) {
  double longest = -1;
  std::string words;
  const auto ranks = note.find("ranks");
  if (ranks == note.end() || !ranks->is_array()) return "";
  for (const auto& rank : *ranks) {
    const auto silent = rank.is_object() ? rank.find("silent_seconds") : rank.end();
    if (!rank.is_object() || silent == rank.end() || !silent->is_number()) continue;
    if (silent->get<double>() <= longest) continue;
    longest = silent->get<double>();
    words = text("node ", node, ": rank ", whole_in(rank, "rank"), " silent for ",
                 format("%.1f", longest), " s in step ", whole_in(rank, "step"), ", ",
                 text_in(rank, "last_op"));
  }
  return words;
}

std::vector<std::string> hang_notes(const std::string& run) {
  std::vector<std::string> notes;
  std::error_code none;
  std::filesystem::directory_iterator entry(run + "/hangs", none);
  for (; !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    const std::filesystem::path path = entry->path();
    const std::string note = note_text(path.stem().string(), object_in(path.string()));
    if (!note.empty()) notes.push_back(note);
  }
  std::ranges::sort(notes);
  return notes;
}

bool is_open(const LaunchRow& launch) { return launch.ended.empty(); }

/// True if error.json tells of this end, not of a later start.
bool is_of_last(const RunEnd& end) {
  return end.failure && (is_open(end.last) || end.last.ended.starts_with("error "));
}

std::string begun_text(const RunEnd& end) {
  const LaunchRow& launch = end.last;
  return text(
      end.run, ": ",
      end.launches == 1 ? "its launch" : text("the last of its ", end.launches, " launches"), " (",
      counted(launch.ranks, "rank"), ", host ", launch.host,
      launch.job.empty() ? "" : ", Slurm job " + launch.job, ") began at ", launch.start,
      launch.from > 0 ? text(" from step ", launch.from) : "");
}

std::string place_text(const RunEnd& end) {
  if (end.step == 0) return "before its first step";
  return text("at step ", end.step, end.steps > 0 ? text(" of ", end.steps) : "");
}

/// Returns the remedy for an exit status.
std::string remedy(Exit exit) {
  switch (exit) {
    case Exit::kUsage:
      return "Correct what the error names in the input file or on the command line.";
    case Exit::kInput:
      return "Mend or replace the file that the error names.";
    case Exit::kNoCheckpoint:
      return "Look at the checkpoints by zeroapp fsck; checkpoint.resume=never begins anew.";
    case Exit::kIo:
      return "Make room on that disk or mend it.";
    case Exit::kDoesNotFit:
      return "Take the change that the error names; zeroapp plan shows the memory of any other.";
    case Exit::kNumerics:
      return "Look at the loss before that step by zeroapp report, and lower optimizer.lr, take "
             "bf16 in place of fp16, or clean the data.";
    case Exit::kRanksDisagree:
      return "Give every rank the same program, input file and data.";
    case Exit::kInUse:
      return "Wait for the process that the error names, or write another run.output.";
    case Exit::kHang:
      return "Look at the rank and node that the error names; if they fail again, leave the node "
             "out (sbatch --exclude).";
    case Exit::kDevice:
      return "Start on other nodes (sbatch --exclude), and tell the administrator of the card.";
    case Exit::kInternal:
      return "Please report it, with the error and the output of zeroapp doctor.";
    default:
      return "";
  }
}

std::string saved_text(const RunEnd& end) {
  if (end.saved == 0) return "No checkpoint is there, so the same command begins anew.";
  const int64_t lost = end.step - end.saved;
  return text("The same command goes on from step ", end.saved,
              lost > 0 ? ", and computes " + counted(lost, "step") + " again." : ".");
}

std::string failure_text(const RunEnd& end) {
  if (!end.failure) return text("It ended by ", end.last.ended, ", and error.json is gone.");
  const FailureRow& failure = *end.failure;
  std::string words =
      text("It ended with status ", failure.exit, " on rank ", failure.rank,
           failure.host.empty() ? "" : " of node " + failure.host,
           failure.step > 0 ? text(" in step ", failure.step) : "", ": ", failure.what);
  words += words.ends_with('.') ? "" : ".";
  if (!failure.blames.empty()) words += text(" It blames node ", failure.blames, ".");
  for (size_t i = 0; i < std::min(kMostNotes, end.hang_notes.size()); ++i)
    words += (i == 0 ? " Notes: " : "; ") + end.hang_notes[i];
  if (!end.hang_notes.empty()) words += ".";
  return words;
}

/// Returns the cause and the remedy by Slurm's word for the state of the job.
std::string slurm_text(const std::string& state) {
  struct Row {
    std::string_view state, remedy;
  };
  constexpr Row kRows[] = {
      {"OUT_OF_MEMORY",
       "the node's memory was too small: ask for more by --mem, or for fewer "
       "ranks a node"},
      {"TIMEOUT", "the time limit came before it could save: give --signal=TERM@300, or more"},
      {"NODE_FAIL", "a node failed: leave it out by --exclude if it does so again"},
      {"PREEMPTED", "another job took its place, with too short a GraceTime for a save"},
      {"CANCELLED", "somebody cancelled the job; scancel without --full lets it save"},
      {"DEADLINE", "its deadline came before it could save"},
      {"BOOT_FAIL", "a node did not start"}};
  for (const Row& row : kRows) {
    if (state.starts_with(row.state)) return text("Slurm says ", state, ": ", row.remedy, ".");
  }
  return state.empty() ? "" : text("Slurm says that the job is ", state, ".");
}

std::string killed_text(const RunEnd& end) {
  std::string words = text("It was killed ", place_text(end),
                           " and left no word: SIGKILL, a node that died or a power cut end a run "
                           "so.");
  const std::string by_slurm = slurm_text(end.slurm);
  if (!by_slurm.empty()) return words + " " + by_slurm;
  return words + " Look for the kernel's out-of-memory killer by dmesg on its nodes.";
}

std::string running_text(const RunEnd& end) {
  const std::string idle =
      end.idle_seconds < 0
          ? ""
          : text("; its last line is ", monitor::duration_text(double(end.idle_seconds)), " old");
  return text("It is ", place_text(end), idle, ", and ", end.holder->words,
              " holds the folder. While that lives nothing is to be done: zeroapp top shows it.");
}

std::string finished_text(const RunEnd& end) {
  const std::string& how = end.last.ended;
  if (how.ends_with("(run.stop_at)"))
    return text("It ", how, ". The same command with run.stop_at=0, or a later step, goes on.");
  if (how.ends_with("(checkpoint.patience)"))
    return text("It ", how, ", as no evaluation was better. The same command with ",
                "checkpoint.patience=0, or more of it, goes on.");
  return text("It ", how,
              " and is complete. zeroapp report shows it, zeroapp eval and generate "
              "use its model; more of run.steps trains on.");
}

std::string stopped_text(const RunEnd& end) {
  return text("It was ", end.last.ended, ". ", saved_text(end));
}

std::string last_text(const RunEnd& end) {
  const std::string& how = end.last.ended;
  if (is_open(end.last) && end.holder) return running_text(end);
  if (is_open(end.last) && !end.failure) return killed_text(end) + " " + saved_text(end);
  if (how == "killed") return killed_text(end) + " " + saved_text(end);
  if (how.starts_with("finished ")) return finished_text(end);
  if (how.starts_with("stopped ")) return stopped_text(end);
  if (!is_of_last(end)) return failure_text(end) + " " + saved_text(end);
  return text(failure_text(end), " ", remedy(Exit(end.failure->exit)), " ", saved_text(end));
}

std::string later_text(const RunEnd& end) {
  return text(" A later start failed before it began: ", end.failure->what, ". ",
              remedy(Exit(end.failure->exit)));
}

}  // namespace

RunEnd run_end(const std::string& run) {
  const std::vector<LaunchRow> launches = launches_of(run, kMostRecordBytes);
  const Settings settings = settings_of(run);
  const std::vector<SaveRow> saves = saves_of(run, settings);
  return {.run = run,
          .launches = launches.size(),
          .last = launches.empty() ? LaunchRow() : launches.back(),
          .failure = failure_of(run),
          .holder = live_holder(run),
          .hang_notes = hang_notes(run),
          .step = last_step(run),
          .steps = whole_number(settings, "run.steps", 0),
          .idle_seconds = age_of(run + "/metrics.jsonl"),
          .saved = saves.empty() ? 0 : saves.back().step,
          .has_summary = is_there(run + "/summary.json")};
}

std::string end_text(const RunEnd& end) {
  if (end.launches == 0 && end.failure)
    return text(end.run, ": no launch is on record.", later_text(end));
  if (end.launches == 0) return text(end.run, ": no launch is on record. Start it.");
  std::string words = text(begun_text(end), ". ", last_text(end));
  const bool is_later = end.failure && !is_of_last(end);
  return is_later ? words + later_text(end) : words;
}

std::string end_words(const RunEnd& end) {
  if (end.launches == 0) return "not begun";
  if (!is_open(end.last)) return end.last.ended;
  return end.holder ? "running" : "killed";
}

}  // namespace zero::report
