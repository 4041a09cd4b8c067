#pragma once

#include <map>
#include <string>

#include "zero/plan/forecast.hpp"
#include "zero/report/measured.hpp"

namespace zero::explain {

/// Returns `base` with the rates that a run reached in the steps of its plan. Kinds and lanes that
/// the plan lacks have the rates of the most similar ones. Without times by kind, the phases of
/// metrics.jsonl set the rates of all kinds in a phase alike.
plan::Machine fitted_machine(const plan::Machine& base, const plan::Plan& plan,
                             const report::Measured& measured);

/// Returns, for each kind of op on the plan's compute lane, true if the machine's rate of products
/// bounds it and false if that of memory does.
std::map<std::string, bool, std::less<>> bound_by_products(const plan::Plan& plan,
                                                           const plan::Machine& machine);

/// A rate or a share at which work takes no time.
inline constexpr double kEndless = 1e30;

}  // namespace zero::explain
