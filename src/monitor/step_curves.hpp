#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "zero/monitor/step_record.hpp"

namespace zero::monitor {

/// A step's value of a curve; none if the step has none.
using CurveValue = std::optional<double>;

/// A curve over steps.
struct Curve {
  std::string_view tag;
  CurveValue (*value)(const StepRecord&, const LogContext&);
};

template <run::Phase kPhase>
CurveValue phase_ms(const StepRecord& record, const LogContext&) {
  return 1e3 * record.phases[size_t(kPhase)];
}

inline CurveValue speed(const StepRecord& record, const LogContext& context, const char* unit) {
  if (std::strcmp(context.counted_by, unit) != 0) return {};
  return units_per_second(record);
}

/// The curves of TensorBoard, and of Prometheus.
inline constexpr Curve kCurves[] = {
    {"train/loss",
     [](const StepRecord& r, const LogContext&) -> CurveValue { return r.report.loss; }},
    {"train/lr",
     [](const StepRecord& r, const LogContext&) -> CurveValue { return r.report.learning_rate; }},
    {"train/grad_norm",
     [](const StepRecord& r, const LogContext&) -> CurveValue { return r.report.grad_norm; }},
    {"train/loss_scale",
     [](const StepRecord& r, const LogContext& c) -> CurveValue {
       return c.shows_scale ? CurveValue(r.report.loss_scale) : CurveValue();
     }},
    {"train/skipped",
     [](const StepRecord& r, const LogContext&) -> CurveValue { return r.report.skipped ? 1 : 0; }},
    {"speed/tokens_per_s",
     [](const StepRecord& r, const LogContext& c) { return speed(r, c, kByToken); }},
    {"speed/samples_per_s",
     [](const StepRecord& r, const LogContext& c) { return speed(r, c, kBySample); }},
    {"speed/step_ms",
     [](const StepRecord& r, const LogContext&) -> CurveValue { return 1e3 * r.seconds; }},
    {"speed/exposed_ms",
     [](const StepRecord& r, const LogContext&) -> CurveValue { return 1e3 * r.exposed_seconds; }},
    {"speed/share_of_peak",
     [](const StepRecord& r, const LogContext& c) -> CurveValue {
       return c.peak_flops > 0 ? CurveValue(share_of_peak(r, c)) : CurveValue();
     }},
    {"time/forward_ms", phase_ms<run::Phase::forward>},
    {"time/backward_ms", phase_ms<run::Phase::backward>},
    {"time/reduce_ms", phase_ms<run::Phase::reduce>},
    {"time/optimizer_ms", phase_ms<run::Phase::optimizer>},
    {"time/gather_ms", phase_ms<run::Phase::gather>},
    {"memory/device_bytes_peak",
     [](const StepRecord& r, const LogContext&) -> CurveValue {
       return r.device_bytes_peak >= 0 ? CurveValue(double(r.device_bytes_peak)) : CurveValue();
     }},
};

}  // namespace zero::monitor
