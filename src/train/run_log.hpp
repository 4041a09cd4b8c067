#pragma once

#include <string>

#include "src/train/trainer.hpp"
#include "zero/launch/files.hpp"

namespace zero::train {

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

/// Steps whose times are added up.
struct Window {
  int64_t steps = 0;
  double seconds = 0, exposed_seconds = 0;
  run::PhaseSeconds phases{};

  void add(const StepRecord& record);
};

/// "    forward 30.1 ms  backward 40.2 ms  reduce 5.0 ms  optimizer 4.1 ms  gather 3.3 ms  waiting
/// 2.0 ms of 80.0 ms  (mean of 10 steps)": busy time of all lanes of this rank, which run beside
/// each other, and for how long the arithmetic waited for other lanes.
void append_breakdown_line(std::string& line, const Window& window);

/// "1 h 02 m", "3 m 05 s", "41 s"
std::string duration_text(double seconds);

/// The console and <folder>/metrics.jsonl of a run, on rank 0. A full disk or a closed console
/// costs one warning and no training.
class RunLog {
 public:
  /// Cuts metrics.jsonl behind the steps that are done. `console` outlives it. Throws Error(kIo).
  RunLog(launch::Console& console, const std::string& folder, const LogContext& context);

  /// Writes every step; prints one every `interval` steps, the first one, and the last one that
  /// this launch is to reach, which after a signal it does not.
  void step(const StepRecord& record);
  void evaluation(const state::Evaluation& evaluation);
  /// Mean of the steps so far but the first, which makes the libraries ready.
  double mean_seconds() const;
  /// What all steps of this launch took, and those that metrics.jsonl had before.
  double seconds() const { return seconds_; }
  double earlier_seconds() const { return earlier_seconds_; }

 private:
  void write_metrics();
  /// A step above the peak shows that the peak was measured too low.
  void withdraw_peak();
  bool cut_metrics();

  launch::Console& console_;
  LogContext context_;
  OpenFile metrics_;
  int64_t metrics_bytes_ = 0;  ///< of whole lines
  bool warned_ = false;
  std::string line_;  ///< the next line; keeps its room
  Window window_;     ///< since the last line on the console
  int64_t steps_ = 0;
  double first_seconds_ = 0, seconds_ = 0, earlier_seconds_ = 0;
};

}  // namespace zero::train
