#pragma once

#include <string_view>

#include "zero/monitor/step_record.hpp"

namespace zero::monitor {

/// A curve that DeepSpeed's monitors draw over samples (deepspeed/runtime/engine.py).
struct DeepSpeedCurve {
  std::string_view tag;
  std::string_view name;  ///< last part of the tag
  double (*value)(const StepRecord&);
  bool (*is_shown)(const LogContext&) = [](const LogContext&) { return true; };
  bool is_single = false;  ///< true: the value is a float, of as many digits
};

inline double ms_of(const StepRecord& record, run::Phase phase) {
  return 1e3 * record.phases[size_t(phase)];
}

/// Times are this rank's, as there: "backward" is the whole of it, "inner" without collectives.
inline constexpr DeepSpeedCurve kDeepSpeedCurves[] = {
    {"Train/Samples/train_loss", "train_loss",
     [](const StepRecord& record) { return record.report.loss; }},
    {"Train/Samples/lr", "lr",
     [](const StepRecord& record) { return double(record.report.learning_rate); },
     [](const LogContext&) { return true; }, true},
    {"Train/Samples/loss_scale", "loss_scale",
     [](const StepRecord& record) { return double(record.report.loss_scale); },
     [](const LogContext& context) { return context.shows_scale; }, true},
    {"Train/Samples/elapsed_time_ms_forward", "elapsed_time_ms_forward",
     [](const StepRecord& record) { return ms_of(record, run::Phase::forward); },
     [](const LogContext& context) { return context.breaks_down; }},
    {"Train/Samples/elapsed_time_ms_backward", "elapsed_time_ms_backward",
     [](const StepRecord& record) {
       return ms_of(record, run::Phase::backward) + ms_of(record, run::Phase::reduce);
     },
     [](const LogContext& context) { return context.breaks_down; }},
    {"Train/Samples/elapsed_time_ms_backward_inner", "elapsed_time_ms_backward_inner",
     [](const StepRecord& record) { return ms_of(record, run::Phase::backward); },
     [](const LogContext& context) { return context.breaks_down; }},
    {"Train/Samples/elapsed_time_ms_backward_allreduce", "elapsed_time_ms_backward_allreduce",
     [](const StepRecord& record) { return ms_of(record, run::Phase::reduce); },
     [](const LogContext& context) { return context.breaks_down; }},
    {"Train/Samples/elapsed_time_ms_step", "elapsed_time_ms_step",
     [](const StepRecord& record) { return ms_of(record, run::Phase::optimizer); },
     [](const LogContext& context) { return context.breaks_down; }},
};

}  // namespace zero::monitor
