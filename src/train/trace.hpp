#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "zero/launch/session.hpp"
#include "zero/run/executor.hpp"

namespace zero::train {

/// Returns the number of training bodies that a trace keeps: 8, or fewer if they have more than
/// 2^17 ops, but at least one. A rank's part of trace.json then has at most about 30 MB.
int traced_bodies(const plan::Plan& plan);

/// The traced bodies of one rank, with its number and host.
struct RankTrace {
  const plan::Plan& plan;
  std::span<const run::TracedBody> bodies;
  int rank = 0;
  std::string host;
  int64_t origin_ns = 0;  ///< time 0 of the trace, on this rank's steady clock
};

/// Returns the events of one rank in the Trace Event Format, which Perfetto and Chrome open,
/// without the brackets around them. The rank is a process, each lane with ops a thread beside a
/// thread of bodies. Each op is a complete event with step, unit, micro-batch and operand bytes,
/// each wait an arrow. Times are in microseconds.
std::string trace_events(const RankTrace& trace);

/// Writes the traces of all ranks to `path` on rank 0, on rank 0's clock. Ranks of one host share a
/// clock. Hosts compare clocks as a few meetings of all ranks end, so they agree as closely as a
/// meeting ends everywhere at once. Throws Error(kIo) on rank 0. Collective.
void write_trace(const std::string& path, launch::Session& session, const plan::Plan& plan,
                 std::span<const run::TracedBody> bodies);

}  // namespace zero::train
