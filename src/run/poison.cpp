#include "src/run/poison.hpp"

#include <cstring>

namespace zero::run {

Poison::Poison(const plan::Plan& plan, BytesOf bytes_of)
    : plan_(plan), bytes_of_(std::move(bytes_of)), lives_(plan.buffers.size()) {}

bool Poison::fills_copy(const plan::Operand& operand) const {
  const plan::Buffer& buffer = plan_.buffers[size_t(operand.buffer)];
  return buffer.copy_of >= 0 && operand.mode == plan::Mode::write && operand.bytes == buffer.bytes;
}

void Poison::begin(const plan::Body& body) {
  lives_.assign(plan_.buffers.size(), Lives{});
  for (const plan::PlanOp& op : body.ops) {
    for (const plan::Operand& operand : op.operands) {
      if (operand.buffer < 0) continue;
      const bool kept = plan_.buffers[size_t(operand.buffer)].persistent;
      const bool anew = fills_copy(operand);
      std::vector<Life>& lives = lives_[size_t(operand.buffer)].all;
      if (!lives.empty() && anew) lives.back().ends = true;
      if (lives.empty() || anew) lives.push_back({.begins = anew || !kept, .ends = !kept});
      ++lives.back().ops_left;
    }
  }
}

void Poison::before(const plan::PlanOp& op) {
  for (const plan::Operand& operand : op.operands) {
    if (operand.buffer < 0) continue;
    Lives& lives = lives_[size_t(operand.buffer)];
    Life& life = lives.all[lives.now];
    if (life.begins) fill(operand.buffer);
    life.begins = false;
  }
}

void Poison::after(const plan::PlanOp& op) {
  for (const plan::Operand& operand : op.operands) {
    if (operand.buffer < 0) continue;
    Lives& lives = lives_[size_t(operand.buffer)];
    if (--lives.all[lives.now].ops_left > 0) continue;
    if (lives.all[lives.now].ends) fill(operand.buffer);
    if (lives.now + 1 < lives.all.size()) ++lives.now;
  }
}

void Poison::fill(int32_t buffer) const {
  const std::span<std::byte> bytes = bytes_of_(buffer);
  std::memset(bytes.data(), 0xFF, bytes.size());
}

}  // namespace zero::run
