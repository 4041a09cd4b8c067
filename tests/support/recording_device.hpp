#pragma once
/// A device that runs nothing and remembers what is queued on it: twins of Stream, Event, Moment
/// and Recording that say of every op of a plan which others are done when it begins. What a
/// program that links it queues is checked against the waits of the plan. Host builds only.

#include <cstdint>
#include <string>
#include <vector>

#include "src/run/bound_op.hpp"

namespace zero::testing {

/// What a test has the device forget, counted from 0 in the order of calls; -1: nothing.
struct Forgetting {
  int hold = -1;
  int record = -1;
  int wait = -1;  ///< of the host for what is queued
};

/// How often each was called since expect().
struct DeviceCalls {
  int holds = 0, records = 0, waits = 0;
  int recorded = 0;  ///< segments
  int replayed = 0;  ///< ops that came from a recording
};

/// From now on the ops of this body are expected, each once, those of a loop once a round, with
/// their waits; no stream is busy.
/// `records`: whether streams can be recorded.
void expect(const plan::Plan& plan, plan::BodyId body, bool records, Forgetting forgetting = {});
/// What was wrong since then, work that nobody has waited for included; empty: nothing.
std::vector<std::string> faults();
DeviceCalls device_calls();
/// The collectives queued since expect(), in that order, as places in the body.
std::vector<int32_t> queued_collectives();

/// In place of an op's function: queues it, or runs it on the host where a disk or the host's
/// optimizer does.
void queue_op(const run::BoundOp& op, const run::LaneTools& tools);

}  // namespace zero::testing
