#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "src/run/bound_op.hpp"
#include "zero/device/arena.hpp"

namespace zero::run {

/// Runs ops before the first step whose first call on a device may measure and may take memory
/// (graph::Operation::rehearsed). They are measured while the device does nothing else, and what a
/// library is refused is refused before step 1.
///
/// REQUIRES: no array of an op holds anything yet. Afterwards they hold noise and its results,
/// since a device that multiplies zeros saves power and is measured at a higher clock.
class Rehearsal {
 public:
  explicit Rehearsal(Stream& stream) : stream_(stream) {}

  /// Runs each form of the op, unless one of its kind, shapes and alignment has run. Asynchronous
  /// on the stream, which serves the calling thread in steps too. Throws what the op throws.
  void run(const BoundOp& op);
  /// Returns the number of calls so far.
  int calls() const { return int(seen_.size()); }

 private:
  using Key = std::vector<uint64_t>;
  static Key key_of(const graph::OpCall& call);
  void fill_inputs(const graph::OpCall& call);
  void fill(Dtype dtype, std::span<std::byte> array);
  const Arena& noise_of(Dtype dtype);

  Stream& stream_;
  std::set<Key> seen_;
  std::map<Dtype, Arena> noise_;
};

}  // namespace zero::run
