#include "src/plan/lifetimes.hpp"

#include <algorithm>

namespace zero::plan {

std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body) {
  std::vector<Lifetime> lifetimes;
  std::vector<int32_t> place(plan.buffers.size(), -1);
  for (size_t i = 0; i < body.ops.size(); ++i) {
    for (const Operand& operand : body.ops[i].operands) {
      if (operand.buffer < 0 || plan.buffers[size_t(operand.buffer)].persistent) continue;
      int32_t& at = place[size_t(operand.buffer)];
      if (at < 0) {
        at = int32_t(lifetimes.size());
        lifetimes.push_back({.buffer = operand.buffer, .birth = int32_t(i), .death = int32_t(i)});
      }
      Lifetime& lifetime = lifetimes[size_t(at)];
      lifetime.death = std::max(lifetime.death, body.ops[i].done_by);
    }
  }
  return lifetimes;
}

}  // namespace zero::plan
