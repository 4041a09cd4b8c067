#pragma once

#include <cstdint>
#include <map>

#include "zero/plan/plan.hpp"

namespace zero::testing {

/// What the buffers of reproducible mode's counter hold, as a number of the tree of additions.
/// Which of two sums takes the other one in makes no difference.
class Sums {
 public:
  static bool adds(const plan::PlanOp& op) {
    return op.kind == plan::Kind::accumulate || op.kind == plan::Kind::reduce_scatter;
  }
  /// Op number `i` of a list adds a micro-batch, or one sum to another.
  void add(const plan::PlanOp& op, size_t i) {
    const auto from = sums_.find(op.operands[0].buffer);
    uint64_t& to = sums_[op.operands[1].buffer];
    if (from == sums_.end()) {
      to = mixed((op.operands[1].mode == plan::Mode::write ? 0 : to) ^ (i + 1));
    } else {
      to = mixed(to + from->second);
      sums_.erase(from);
    }
  }
  /// 0: none.
  uint64_t of(int32_t buffer) const {
    const auto found = sums_.find(buffer);
    return found == sums_.end() ? 0 : found->second;
  }

 private:
  static uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
  }
  std::map<int32_t, uint64_t> sums_;
};

}  // namespace zero::testing
