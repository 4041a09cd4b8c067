#pragma once

#include <string>

#include "zero/advise/memory_limit.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// What of a rank's memory counts under a limit: the device arena and, where that lies in the
/// host's memory, what else does.
int64_t counted_bytes(const state::Build& build, const MemoryLimit& limit);
/// What of it lies in host memory by plan: states and staging, and the copy that checkpoint.async
/// saves from.
int64_t host_bytes(const state::Build& build);
/// Both together, wherever they lie.
int64_t all_bytes(const state::Build& build);
/// True if all that counts is within the limit, also with what the texts of a build take, or no
/// limit is known.
bool fits(const state::Build& build, const MemoryLimit& limit);

/// What writing texts takes beside a training's plan: nothing of the device's memory where all of
/// it fits into what the plan leaves free between bodies.
plan::TierBytes beside(const state::Build& build, plan::TierBytes texts);
/// All of it, for people.
int64_t sum(const plan::TierBytes& bytes);

/// "1.20 MiB of it beside the plan", of the memory that texts take.
std::string beside_text(const state::Build& build, const state::Texts& texts);

/// What is said about a compiled plan before it runs.
struct PlanReport {
  const state::Build* build;
  plan::Forecast forecast;
  MemoryLimit limit;
  plan::Machine machine = {};  ///< by whose rates it is forecast

  int64_t device_bytes() const { return forecast.arena_bytes[size_t(plan::Tier::device)]; }
  bool fits() const { return advise::fits(*build, limit); }
};

PlanReport report_plan(const state::Build& build, const plan::Machine& machine,
                       const MemoryLimit& limit);

/// Floating-point operations of the forward and backward pass of one token of the longest samples:
/// model::flops_per_token() or, where parameters are frozen, what is planned if that is less.
double flops_per_token(const PlanReport& report, int64_t source_length);

/// "2.00 GiB a rank of 1.00 GiB (memory.device_limit)", of a build that does not fit.
std::string shortage_text(const state::Build& build, const MemoryLimit& limit);

/// Bytes of each use beside ZeRO's formula and why they differ, the arena that holds them, and the
/// limit.
std::string memory_table(const PlanReport& report);
/// Elements, calls and bytes of each collective of one step beside the formula and why they differ.
std::string traffic_table(const PlanReport& report);
/// Bytes between a rank and its disk in one step, and what is written a day at the forecast's
/// speed; "" of a plan that keeps nothing there.
std::string disk_table(const PlanReport& report);
/// Time of each lane and of a step.
std::string time_table(const PlanReport& report);
/// All of it as one JSON object.
std::string plan_json(const PlanReport& report);

}  // namespace zero::advise
