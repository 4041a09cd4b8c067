#pragma once
/// Plans written by hand, one op at a time: what an executor does is seen best on three ops.

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>

#include "zero/base/align.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/plan/plan.hpp"

namespace zero::testing {

inline void fill(std::span<float> values, std::initializer_list<float> with) {
  std::copy(with.begin(), with.end(), values.begin());
}

/// A step body over buffers that lie one behind the other. No graph, no units.
class HandPlan {
 public:
  explicit HandPlan(int ranks = 1) {
    plan.request.ranks = ranks;
    plan.graphs.resize(2);
    plan.bodies[plan::kStep].name = "step";
    input("inputs", sizeof(kernels::StepInputs), graph::FilledBy::step);
  }

  void input(const std::string& name, int64_t bytes,
             graph::FilledBy filled_by = graph::FilledBy::data) {
    plan.inputs.push_back(
        {.name = name, .filled_by = filled_by, .bytes = bytes, .buffer = keep(name, bytes)});
  }
  int32_t step_inputs() const { return plan.inputs.front().buffer; }

  int32_t keep(const std::string& name, int64_t bytes, plan::Tier tier = plan::Tier::device) {
    return add(name, bytes, true, tier);
  }
  int32_t transient(const std::string& name, int64_t bytes) { return add(name, bytes, false); }

  plan::Operand whole(int32_t buffer, plan::Mode mode) const {
    return {.buffer = buffer, .bytes = plan.buffers[size_t(buffer)].bytes, .mode = mode};
  }
  plan::Operand part(int32_t buffer, int64_t offset, int64_t bytes, plan::Mode mode) const {
    return {.buffer = buffer, .offset = offset, .bytes = bytes, .mode = mode};
  }

  /// Appends an op; the reference holds until the next one.
  plan::PlanOp& op(plan::Kind kind, plan::Lane lane, std::vector<plan::Operand> operands) {
    plan::PlanOp made{.kind = kind, .lane = lane};
    made.operands = std::move(operands);
    plan.bodies[plan::kStep].ops.push_back(std::move(made));
    return plan.bodies[plan::kStep].ops.back();
  }
  plan::PlanOp& clear(int32_t buffer, plan::Lane lane = plan::Lane::compute) {
    return op(plan::Kind::clear, lane, {whole(buffer, plan::Mode::write)});
  }
  /// sum = from, or sum += from; both fp32.
  plan::PlanOp& accumulate(int32_t from, int32_t sum, bool add,
                           plan::Lane lane = plan::Lane::compute) {
    const plan::Mode mode = add ? plan::Mode::update : plan::Mode::write;
    plan::PlanOp& made =
        op(plan::Kind::accumulate, lane, {whole(from, plan::Mode::read), whole(sum, mode)});
    made.add = add;
    return made;
  }

  plan::Plan plan;

 private:
  int32_t add(const std::string& name, int64_t bytes, bool persistent,
              plan::Tier tier = plan::Tier::device) {
    constexpr int64_t kAlignments[] = {kExtentAlignBytes, plan::kPageBytes,
                                       plan::kDiskExtentAlignBytes};
    int64_t& end = plan.arena_bytes[size_t(tier)];
    plan.buffers.push_back(
        {.name = name, .bytes = bytes, .tier = tier, .persistent = persistent, .offset = end});
    end = round_up(end + bytes, kAlignments[size_t(tier)]);
    return int32_t(plan.buffers.size()) - 1;
  }
};

}  // namespace zero::testing
