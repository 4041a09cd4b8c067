#pragma once

#include <string>

#include "zero/advise/memory_limit.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {

/// Returns the bytes of a build's plan on a rank that count under `limit`: the device arena, and
/// host memory too if limit.of_host.
int64_t counted_bytes(const setup::Build& build, const MemoryLimit& limit);
/// Returns the bytes of a build's plan in the host memory of a rank: states, staging, and the copy
/// for checkpoint.async.
int64_t host_bytes(const setup::Build& build);
/// Returns the bytes of a build's plan on a rank: device arena and host memory together.
int64_t all_bytes(const setup::Build& build);
/// True if all bytes of a build's plan are within `limit`, also while texts are written, or if no
/// limit is known.
bool fits(const setup::Build& build, const MemoryLimit& limit);

/// Returns the memory for writing texts, `texts`, that a rank needs beside a build's plan. Its
/// device bytes become 0 if they fit into the memory that the plan leaves free between bodies.
plan::TierBytes beside(const setup::Build& build, plan::TierBytes texts);
/// Returns the sum of `bytes` over all tiers.
int64_t sum(const plan::TierBytes& bytes);

/// Returns the sum of beside(build, texts.bytes) as "1.20 MiB of it beside the plan".
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

/// Returns the report on a build's plan under `limit`, with its forecast on `machine`.
PlanReport report_plan(const setup::Build& build, const plan::Machine& machine,
                       const MemoryLimit& limit);

/// Returns floating-point operations of forward and backward for a token of the longest samples in
/// the reported plan. Their sources have `source_length` tokens; 0: none. This is
/// model::flops_per_token() or, with frozen parameters, the plan's number if less.
double flops_per_token(const PlanReport& report, int64_t source_length);

/// Returns "2.00 GiB a rank of 1.00 GiB (memory.device_limit)", for a build that does not fit
/// within `limit`; "" for one that does.
std::string shortage_text(const setup::Build& build, const MemoryLimit& limit);

/// Returns a report's memory as a text table: the bytes of each use beside ZeRO's formula, with
/// reasons for differences, the arena and the limit.
std::string memory_table(const PlanReport& report);
/// Returns a report's traffic as a text table: elements, calls and bytes of each collective in a
/// step beside the formula, with reasons for differences.
std::string traffic_table(const PlanReport& report);
/// Returns a report's disk traffic as text: bytes between a rank and its disk in a step, and bytes
/// written per day at the forecast speed. Returns "" if the plan uses no disk.
std::string disk_table(const PlanReport& report);
/// Returns a report's forecast as a text table of the time of each lane and of a step.
std::string time_table(const PlanReport& report);
/// Returns the whole report as a JSON object.
std::string plan_json(const PlanReport& report);

}  // namespace zero::advise
