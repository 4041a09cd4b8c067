#pragma once

#include "zero/monitor/step_record.hpp"

namespace zero::testing_support {

/// A step of 1000 tokens in half a second, with phases that add up in binary.
inline monitor::StepRecord timed_record(int64_t step) {
  monitor::StepRecord record;
  record.report.step = step;
  record.report.grad_norm = 0.5;
  record.counted = 1000;
  record.seconds = 0.5;
  record.exposed_seconds = 0.001;
  record.phases = {0.125, 0.25, 0.03125, 0.0625, 0.015625, 0};
  return record;
}

}  // namespace zero::testing_support
