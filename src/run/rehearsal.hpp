#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "src/run/bound_op.hpp"
#include "zero/device/arena.hpp"

namespace zero::run {

/// A run before the first step of ops whose first call on a device may measure and take memory
/// (graph::Operation::rehearsed). The device does nothing else meanwhile, and refusals come before
/// step 1.
///
/// REQUIRES: no array of an op holds data yet. Afterwards they hold noise and its results, because
/// a device that multiplies zeros saves power and runs at a higher clock.
class Rehearsal {
 public:
  explicit Rehearsal(Stream& stream) : stream_(stream) {}

  /// Runs each form of the op, unless one of its kind, shapes and alignment has run. Asynchronous
  /// on the stream, which serves the calling thread in steps too. Throws as the op.
  void run(const BoundOp& op);
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
