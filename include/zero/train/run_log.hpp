#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "zero/train/trainer.hpp"

namespace zero::train {

/// What a line about a step is made from beside the step.
struct LogContext {
  int64_t steps = 1;           ///< of the whole training
  int64_t last = 1;            ///< of this launch
  double flops_per_token = 0;  ///< forward and backward
  double peak_flops = 0;       ///< a second, of all ranks; 0: not known
  bool shows_scale = false;    ///< fp16
  bool synthetic = false;      ///< no data was learnt from
};

/// "step 120/600 20.0 %  loss 2.3456  norm 0.81  lr 1.20e-03  85 ms  12000 tokens/s  34.0 % of peak
/// ETA 41 s"; a skipped attempt says so. `mean_seconds` of a step gives the ETA. This and the next
/// allocate nothing where `line` has room.
void append_step_line(std::string& line, const StepRecord& record, const LogContext& context,
                      double mean_seconds);

/// One JSON object with step, loss, loss_hex (the bits of the double), grad_norm, lr, loss_scale,
/// skipped, tokens, tokens_per_s, step_ms, exposed_ms; a number that is not finite is null.
void append_metrics_line(std::string& line, const StepRecord& record);

/// "1 h 02 m", "3 m 05 s", "41 s"
std::string duration_text(double seconds);

/// The console and <folder>/metrics.jsonl of a run, on rank 0. A full disk or a closed console
/// costs one warning and no training.
class RunLog {
 public:
  /// Prints a step every `interval` steps, the first one, and the last one that this launch is to
  /// reach, which after a signal it does not; writes every step.
  RunLog(const std::string& folder, const LogContext& context, int64_t interval);

  void step(const StepRecord& record);
  void evaluation(const Evaluation& evaluation);
  /// Mean of the steps so far but the first, which makes the libraries ready.
  double mean_seconds() const;

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write_metrics();

  LogContext context_;
  int64_t interval_;
  std::unique_ptr<std::FILE, CloseFile> metrics_;
  std::string line_;  ///< the next line; keeps its room
  bool warned_ = false;
  int64_t steps_ = 0;
  double first_seconds_ = 0, seconds_ = 0;
};

}  // namespace zero::train
