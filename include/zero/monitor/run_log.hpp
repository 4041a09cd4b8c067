#pragma once
/// The steps and evaluations of a run as lines for people and as JSON.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/io/files/open_file.hpp"
#include "zero/launch/console.hpp"
#include "zero/monitor/monitor.hpp"
#include "zero/monitor/rank_times.hpp"
#include "zero/monitor/step_record.hpp"
#include "zero/state/evaluation.hpp"

namespace zero::monitor {

/// Appends a step to `line` as "step 120/600 20.0 %  loss 2.3456  norm 0.81  lr 1.20e-03  85 ms
/// 12000 tokens/s  34.0 % of peak ETA 41 s", with a note if skipped. `context` has what the record
/// lacks. The ETA assumes `mean_seconds` a step. Allocates nothing if `line` has room.
void append_step_line(std::string& line, const StepRecord& record, const LogContext& context,
                      double mean_seconds);

/// Appends a step to `line` as a JSON object: step, loss, loss_hex (the bits of the double),
/// grad_norm, lr, loss_scale, skipped, spike or rejected of a skipped one that was, tokens (or the
/// unit `counted_by`), tokens_per_s, step_ms, exposed_ms, and the ms of each phase on this rank;
/// over several nodes also node_bytes_sent. Numbers that are not finite are null. Allocates nothing
/// if `line` has room.
void append_metrics_line(std::string& line, const StepRecord& record,
                         const char* counted_by = kByToken);

/// Returns the scores of the texts that an evaluation generated: "BLEU 23.45  exact match 0.1200
/// 500 texts".
std::string texts_line(const state::Evaluation& evaluation);

/// Appends an evaluation to `line` as "evaluation after step 10  loss 2.3456  perplexity 10.4  1200
/// tokens  0.3 s", with the metrics that were measured, and a line on generated texts, if any.
/// Without texts, allocates nothing if `line` has room.
void append_evaluation(std::string& line, const state::Evaluation& evaluation);

/// Appends an evaluation to `line` as a JSON object: step, loss, loss_hex, metrics, tokens and
/// seconds. With generated texts it has their metrics, texts and texts_seconds too. Without texts,
/// allocates nothing if `line` has room.
void append_evaluation_line(std::string& line, const state::Evaluation& evaluation);

/// The summed times of several steps.
struct Window {
  int64_t steps = 0;
  double seconds = 0, exposed_seconds = 0;
  run::PhaseSeconds phases{};

  void add(const StepRecord& record);
};

/// Appends the mean times of a window's steps to `line` as "    forward 30.1 ms  backward 40.2 ms
/// reduce 5.0 ms  optimizer 4.1 ms  gather 3.3 ms waiting 2.0 ms of 80.0 ms  (mean of 10 steps)".
/// Phases are busy times of this rank's lanes, which run side by side. "waiting" is the time that
/// compute waited for other lanes.
void append_breakdown_line(std::string& line, const Window& window);

/// Returns `seconds` as "1 h 02 m", "3 m 05 s" or "41 s".
std::string duration_text(double seconds);

/// A file of a run with a line for each step, or for each step with news. A full disk costs one
/// warning and no training.
class StepLines {
 public:
  /// Opens the file `name` in `folder`. Keeps its lines of an earlier launch up to step `done`,
  /// each of at most `line_bytes`. Throws Error(kIo).
  StepLines(const std::string& folder, const char* name, int64_t done, size_t line_bytes = 1024);

  /// Appends `line`. REQUIRES: it ends with a newline.
  void add(const std::string& line);
  /// Returns the last step of the earlier launch's lines, or 0; earlier_seconds() sums their
  /// step_ms.
  int64_t earlier_step() const { return earlier_step_; }
  bool is_empty() const { return bytes_ == 0; }
  double earlier_seconds() const { return earlier_seconds_; }

 private:
  void read_earlier(const std::string& path, int64_t done, size_t line_bytes);
  bool cut();

  const char* name_;
  OpenFile file_;
  int64_t bytes_ = 0;  ///< bytes of whole lines
  int64_t earlier_step_ = 0;
  double earlier_seconds_ = 0;
  bool warned_ = false;
};

/// The log of a run on rank 0: the console, <folder>/metrics.jsonl, <folder>/evaluations.jsonl, and
/// what monitors write. A full disk or a closed console costs one warning and no training.
class RunLog {
 public:
  /// Opens both files in `folder` and cuts them after step context.done. Passes all to `monitors`
  /// too. `places` are those of all ranks. REQUIRES: `console` outlives the log. Throws Error(kIo).
  RunLog(launch::Console& console, const std::string& folder, const LogContext& context,
         std::vector<std::unique_ptr<Monitor>> monitors = {}, const RankPlaces& places = {});

  /// Takes and writes every step. Prints the first step, skipped steps, each `interval`-th, and the
  /// last one of this launch, which a run that a signal ends does not reach.
  void step(const StepRecord& record);
  /// Prints an evaluation. Writes it unless an earlier launch has.
  void evaluation(const state::Evaluation& evaluation);
  /// Watches the times of all ranks in a step, and writes those of a shown step to
  /// <folder>/ranks.jsonl. Does nothing for one rank.
  void ranks(int64_t step, std::span<const launch::Ballot> ranks);
  /// Tells the monitors how this launch ends.
  void end(LaunchEnd end);
  const LogContext& context() const { return context_; }
  /// Returns the mean seconds of a step, without the first, which makes the libraries ready.
  double mean_seconds() const;
  /// Returns the seconds of all steps of this launch; earlier_seconds() of those that metrics.jsonl
  /// had.
  double seconds() const { return seconds_; }
  double earlier_seconds() const { return metrics_.earlier_seconds(); }

 private:
  /// Stops showing shares of the peak. A step above the peak proves it was measured too low.
  void withdraw_peak();

  launch::Console& console_;
  LogContext context_;
  StepLines metrics_;
  std::optional<StepLines> evaluations_, rank_lines_;
  std::optional<RankWatch> watch_;
  std::vector<std::unique_ptr<Monitor>> monitors_;
  std::string line_;  ///< next line; keeps its capacity
  Window window_;     ///< steps since the last console line
  int64_t steps_ = 0;
  double first_seconds_ = 0, seconds_ = 0;
};

}  // namespace zero::monitor
