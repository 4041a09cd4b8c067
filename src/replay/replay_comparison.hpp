#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/replay/replay_records.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/launch/session.hpp"
#include "zero/state/unit_digests.hpp"
#include "zero/train/rerun.hpp"

namespace zero::replay {

/// Returns what differs between a step of the run, `there`, and its replay: "loss 2.5 there, 2.25
/// here, 12 ulp apart; ..."; "" if nothing does, and for a step that the run rejected itself.
std::string difference_of(const RecordedStep& there, const kernels::StepReport& here);

/// Returns digests as a file has them.
std::vector<RecordedDigest> recorded(const plan::Plan& plan, const state::UnitDigests& digests);

/// Returns the first row that differs; -1 if none does. Throws Error(kInput) if both are not of the
/// same states.
int64_t first_difference(std::span<const RecordedDigest> there,
                         std::span<const RecordedDigest> here);

/// Returns how many units differ, and the states of that of `row`, the first: "states of 2 of 13
/// units, first h.1: weights, variance".
std::string units_text(std::span<const RecordedDigest> there, std::span<const RecordedDigest> here,
                       int64_t row);

/// Compares one state of a unit with a checkpoint, element by element. Returns their number, the
/// first one, and how far apart they are, on the first rank; "" elsewhere. The rerun is then at the
/// checkpoint. Collective.
std::string values_text(launch::Session& session, train::Rerun& rerun,
                        const state::UnitDigests::Row& row, const std::string& checkpoint);

}  // namespace zero::replay
