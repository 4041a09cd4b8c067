#pragma once
/// The files of a run: its folder, and the logs in it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/train/trainer.hpp"
#include "zero/io/files/files.hpp"
#include "zero/launch/files.hpp"

namespace zero::train {

/// The folder of one run, held by one live run at a time: a lock on <path>/lock, which names host
/// and process. A lock ends with its process, however that ended; where a file system knows no
/// locks, the file's word counts. Rank 0 owns it.
class RunFolder {
 public:
  /// Makes the folder, takes the lock, and tries whether a file reaches the disk. Throws
  /// Error(kInUse) naming the holder's host and process, or Error(kIo) with the path and the
  /// reason; then nothing of an earlier run has been touched.
  explicit RunFolder(const std::string& path);
  /// A launch that is refused leaves nothing that it made: see keep().
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// `folder` is about to be made, with this lock in it.
  void will_make(const std::string& folder, const char* lock);
  /// A launch begins: what has been made stays.
  void keep() { is_kept_ = true; }

  /// Where an earlier run left nothing to go on from, or it is not wanted: its files, and its
  /// checkpoints if asked for, move to old-<n>/. Throws Error(kIo).
  void make_way(bool with_checkpoints);
  /// This launch may fail, too: an earlier one's error is removed. Throws Error(kIo).
  void forget_error();
  /// An earlier run goes on: its metrics and launches stay, its summary is removed, and what it has
  /// written at an end, such as model/, moves to old-<n>/. Throws Error(kIo).
  void go_on();

  /// Gives a file of the run this content, as launch::write_file() does. Throws Error(kIo).
  void write(const std::string& name, const std::string& content) const;

  /// Gives this content to a file in its folder generated/, which is made; a link is none of ours.
  void write_generated(const std::string& name, const std::string& content) const;

  const std::string& path() const { return path_; }
  /// Where an earlier run's files went; "" if there were none.
  const std::string& moved_to() const { return moved_to_; }
  /// How that run had ended: "finished step 600"; "" if nothing says so.
  const std::string& earlier_end() const { return earlier_end_; }

 private:
  struct Members {};
  RunFolder(const std::string& path, Members) : path_(path) {}

  void try_disk() const;
  void remove(const char* name) const;
  std::vector<std::string> present(std::span<const char* const> names) const;
  void move_away(const std::vector<std::string>& names);

  std::string path_, moved_to_, earlier_end_;
  LockFile lock_;
  std::vector<std::string> made_, locks_;  ///< that were not there; folders from the innermost on
  bool is_kept_ = false;
};

/// What a line about a step is made from beside the step.
struct LogContext {
  int64_t steps = 1;           ///< of the whole training
  int64_t last = 1;            ///< of this launch
  int64_t done = 0;            ///< of the launches that this one goes on from
  double flops_per_token = 0;  ///< forward and backward
  double peak_flops = 0;       ///< a second, of all ranks; 0: not known
  bool shows_scale = false;    ///< fp16
  bool synthetic = false;      ///< no data was learnt from
  bool breaks_down = false;    ///< wall_clock_breakdown
  bool evaluates = false;      ///< there are validation data
  int64_t interval = 1;        ///< steps between two lines on the console
};

/// "step 120/600 20.0 %  loss 2.3456  norm 0.81  lr 1.20e-03  85 ms  12000 tokens/s  34.0 % of peak
/// ETA 41 s"; a skipped attempt says so. `mean_seconds` of a step gives the ETA. This and the next
/// allocate nothing where `line` has room.
void append_step_line(std::string& line, const StepRecord& record, const LogContext& context,
                      double mean_seconds);

/// One JSON object with step, loss, loss_hex (the bits of the double), grad_norm, lr, loss_scale,
/// skipped, tokens, tokens_per_s, step_ms, exposed_ms, and the ms of each phase on this rank; a
/// number that is not finite is null.
void append_metrics_line(std::string& line, const StepRecord& record);

/// "BLEU 23.45  exact match 0.1200  500 texts"
std::string texts_line(const state::Evaluation::Texts& texts);

/// "evaluation after step 10  loss 2.3456  perplexity 10.4  1200 tokens  0.3 s", and where texts
/// were generated a line with them. Without texts this and the next allocate nothing where `line`
/// has room.
void append_evaluation(std::string& line, const state::Evaluation& evaluation);

/// One JSON object with step, loss, loss_hex, perplexity, tokens and seconds, and where texts were
/// generated bleu, exact_match, texts and texts_seconds.
void append_evaluation_line(std::string& line, const state::Evaluation& evaluation);

/// Steps whose times are added up.
struct Window {
  int64_t steps = 0;
  double seconds = 0, exposed_seconds = 0;
  run::PhaseSeconds phases{};

  void add(const StepRecord& record);
};

/// "    forward 30.1 ms  backward 40.2 ms  reduce 5.0 ms  optimizer 4.1 ms  gather 3.3 ms  waiting
/// 2.0 ms of 80.0 ms  (mean of 10 steps)": busy time of all lanes of this rank, which run beside
/// each other. Then it says for how long the arithmetic waited for other lanes.
void append_breakdown_line(std::string& line, const Window& window);

/// "1 h 02 m", "3 m 05 s", "41 s"
std::string duration_text(double seconds);

/// A file of a run that grows by a line a step, or by one where there is something to tell of a
/// step. A full disk costs one warning and no training.
class StepLines {
 public:
  /// Keeps the lines of an earlier launch up to step `done`. Throws Error(kIo).
  StepLines(const std::string& folder, const char* name, int64_t done);

  /// One that ends with a newline.
  void add(const std::string& line);
  /// The last step of the earlier launch's lines, 0 without any, and the step_ms of all.
  int64_t earlier_step() const { return earlier_step_; }
  double earlier_seconds() const { return earlier_seconds_; }

 private:
  void read_earlier(const std::string& path, int64_t done);
  bool cut();

  const char* name_;
  OpenFile file_;
  int64_t bytes_ = 0;  ///< of whole lines
  int64_t earlier_step_ = 0;
  double earlier_seconds_ = 0;
  bool warned_ = false;
};

/// The console, <folder>/metrics.jsonl and <folder>/evaluations.jsonl of a run, on rank 0. A full
/// disk or a closed console costs one warning and no training.
class RunLog {
 public:
  /// Cuts both files after the steps that are done. `console` outlives it. Throws Error(kIo).
  RunLog(launch::Console& console, const std::string& folder, const LogContext& context);

  /// Writes every step; prints one every `interval` steps, the first one, and the last one that
  /// this launch is to reach, which after a signal it does not.
  void step(const StepRecord& record);
  /// An evaluation that the files know already, of a launch whose end is made good, is only said.
  void evaluation(const state::Evaluation& evaluation);
  /// Mean of the steps so far but the first, which makes the libraries ready.
  double mean_seconds() const;
  /// What all steps of this launch took, and those that metrics.jsonl had before.
  double seconds() const { return seconds_; }
  double earlier_seconds() const { return metrics_.earlier_seconds(); }

 private:
  /// A step above the peak shows that the peak was measured too low.
  void withdraw_peak();

  launch::Console& console_;
  LogContext context_;
  StepLines metrics_;
  std::optional<StepLines> evaluations_;
  std::string line_;  ///< the next line; keeps its room
  Window window_;     ///< since the last line on the console
  int64_t steps_ = 0;
  double first_seconds_ = 0, seconds_ = 0;
};

}  // namespace zero::train
