#pragma once

#include <string>

#include "zero/advise/memory_limit.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {

/// Returns the bytes that count under a limit: the device arena, and host memory too if the device
/// shares it.
int64_t counted_bytes(const setup::Build& build, const MemoryLimit& limit);
/// Returns the bytes of a rank in host memory: states, staging, and the copy for checkpoint.async.
int64_t host_bytes(const setup::Build& build);
/// Returns the bytes of device arena and host memory together.
int64_t all_bytes(const setup::Build& build);
/// True if all bytes are within the limit, also while texts are written, or if no limit is known.
bool fits(const setup::Build& build, const MemoryLimit& limit);

/// Returns the memory for texts beside a training's plan. Their device memory is 0 if it fits into
/// the memory that the plan leaves free between bodies.
plan::TierBytes beside(const setup::Build& build, plan::TierBytes texts);
/// Returns the sum over all tiers.
int64_t sum(const plan::TierBytes& bytes);

/// Returns "1.20 MiB of it beside the plan", the memory for texts.
std::string beside_text(const setup::Build& build, const setup::Texts& texts);

/// A report on a compiled plan before it runs.
struct PlanReport {
  const setup::Build* build;
  plan::Forecast forecast;
  MemoryLimit limit;
  plan::Machine machine = {};  ///< machine of the forecast

  int64_t device_bytes() const { return forecast.arena_bytes[size_t(plan::Tier::device)]; }
  bool fits() const { return advise::fits(*build, limit); }
};

PlanReport report_plan(const setup::Build& build, const plan::Machine& machine,
                       const MemoryLimit& limit);

/// Returns floating-point operations of forward and backward for a token of the longest samples.
/// This is model::flops_per_token() or, with frozen parameters, the plan's number if less.
double flops_per_token(const PlanReport& report, int64_t source_length);

/// Returns "2.00 GiB a rank of 1.00 GiB (memory.device_limit)", for a build that does not fit.
std::string shortage_text(const setup::Build& build, const MemoryLimit& limit);

/// Returns a table of the bytes of each use beside ZeRO's formula, with reasons for differences,
/// the arena and the limit.
std::string memory_table(const PlanReport& report);
/// Returns a table of the elements, calls and bytes of each collective in a step beside the
/// formula, with reasons for differences.
std::string traffic_table(const PlanReport& report);
/// Returns a text on the bytes between a rank and its disk in a step, and the bytes written per day
/// at the forecast speed; "" if the plan uses no disk.
std::string disk_table(const PlanReport& report);
/// Returns a table of the time of each lane and of a step.
std::string time_table(const PlanReport& report);
/// Returns the whole report as a JSON object.
std::string plan_json(const PlanReport& report);

}  // namespace zero::advise
