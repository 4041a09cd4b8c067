#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "zero/run/executor.hpp"

namespace zero::launch {

/// "adam of unit h.3", "compute linear of layer 2, micro-batch 0", for people.
std::string describe_op(const plan::Plan& plan, const plan::Body& body, const plan::Turn& turn);

/// Ops finished on all lanes since the start.
int64_t finished_ops(std::span<const run::LaneProgress> progress);

/// What each busy lane is at: "lane gather: all_gather of unit h.3 (op 17 of step, 1203 finished)".
std::string describe_progress(const plan::Plan& plan, plan::BodyId body,
                              std::span<const run::LaneProgress> progress);

}  // namespace zero::launch
