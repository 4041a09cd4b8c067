#pragma once

namespace zero::launch {

/// Sees to it that Open MPI's launcher on this node, the parent of this process, ends soon after
/// this process. Without a connection to another node it would wait for ever. A child of this
/// process waits a few seconds for the launcher, then closes its connections to other nodes, upon
/// which it ends with the status of the job, else kills it. Does nothing for other launchers.
/// Returns at once, or after a second in which no child could be made.
/// REQUIRES: this process is about to end.
void end_stuck_launcher() noexcept;

}  // namespace zero::launch
