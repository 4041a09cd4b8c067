#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "zero/launch/session.hpp"
#include "zero/run/executor.hpp"

namespace zero::train {

/// How many training bodies a trace of this plan keeps: 8, or fewer, at least one, where they would
/// have more than 2^17 ops; so a rank's part of trace.json has about 30 MB at most.
int traced_bodies(const plan::Plan& plan);

/// What one rank kept, and how it appears beside other ranks.
struct RankTrace {
  const plan::Plan& plan;
  std::span<const run::TracedBody> bodies;
  int rank = 0;
  std::string host;
  int64_t origin_ns = 0;  ///< on this rank's steady clock: time 0 of the trace
};

/// The events of one rank in the Trace Event Format, which Perfetto and Chrome open, without the
/// brackets around them. The rank is a process, each lane with ops a thread beside a thread of
/// bodies, each op a complete event with step, unit, micro-batch and bytes of its
/// operands, each wait an arrow. Times are in microseconds.
std::string trace_events(const RankTrace& trace);

/// Writes the traces of all ranks to `path` on rank 0, on rank 0's clock. Ranks of one host share a
/// clock; hosts are compared at the end of a few meetings of all ranks, so they agree as far as a
/// meeting ends everywhere at once. Throws Error(kIo) on rank 0. Collective.
void write_trace(const std::string& path, launch::Session& session, const plan::Plan& plan,
                 std::span<const run::TracedBody> bodies);

}  // namespace zero::train
