#include "src/run/poison.hpp"

#include <cstring>

namespace zero::run {

Poison::Poison(const plan::Plan& plan, BytesOf bytes_of)
    : plan_(plan), bytes_of_(std::move(bytes_of)), lives_(plan.buffers.size()) {}

void Poison::begin(const plan::Body& body) {
  lives_.assign(plan_.buffers.size(), Life{});
  for (const plan::PlanOp& op : body.ops) {
    for (const plan::Operand& operand : op.operands) {
      if (operand.buffer >= 0) ++lives_[size_t(operand.buffer)].ops_left;
    }
  }
}

void Poison::before(const plan::PlanOp& op) {
  for (const plan::Operand& operand : op.operands) {
    if (operand.buffer < 0 || lives_[size_t(operand.buffer)].born) continue;
    lives_[size_t(operand.buffer)].born = true;
    fill(operand.buffer);
  }
}

void Poison::after(const plan::PlanOp& op) {
  for (const plan::Operand& operand : op.operands) {
    if (operand.buffer < 0) continue;
    if (--lives_[size_t(operand.buffer)].ops_left == 0) fill(operand.buffer);
  }
}

void Poison::fill(int32_t buffer) const {
  if (plan_.buffers[size_t(buffer)].persistent) return;
  const std::span<std::byte> bytes = bytes_of_(buffer);
  std::memset(bytes.data(), 0xFF, bytes.size());
}

}  // namespace zero::run
