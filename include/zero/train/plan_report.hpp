#pragma once

#include <string>

#include "zero/plan/forecast.hpp"
#include "zero/train/build.hpp"
#include "zero/train/memory_limit.hpp"

namespace zero::train {

/// What is said about a compiled plan before it runs.
struct PlanReport {
  const Build* build;
  plan::Forecast forecast;
  MemoryLimit limit;

  int64_t device_bytes() const { return forecast.arena_bytes[size_t(plan::Tier::device)]; }
  /// True if the device arena is within the limit, or no limit is known.
  bool fits() const { return limit.bytes == 0 || device_bytes() <= limit.bytes; }
};

PlanReport report_plan(const Build& build, const plan::Machine& machine, const MemoryLimit& limit);

/// Bytes of each use beside ZeRO's formula and why they differ, the arena that holds them, and the
/// limit.
std::string memory_table(const PlanReport& report);
/// Elements, calls and bytes of each collective of one step beside the formula and why they differ.
std::string traffic_table(const PlanReport& report);
/// Time of each lane and of a step.
std::string time_table(const PlanReport& report);
/// All of it as one JSON object.
std::string plan_json(const PlanReport& report);

}  // namespace zero::train
