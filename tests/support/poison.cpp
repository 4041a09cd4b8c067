#include "tests/support/poison.hpp"

#include <algorithm>
#include <cstring>

#include "zero/plan/lifetimes.hpp"

namespace zero::run {

Poison::Poison(const plan::Plan& plan, BytesOf bytes_of)
    : plan_(plan), bytes_of_(std::move(bytes_of)), stretches_(plan.buffers.size()) {}

bool Poison::fills_copy(const plan::Operand& operand) const {
  const plan::Buffer& buffer = plan_.buffers[size_t(operand.buffer)];
  return buffer.copy_of >= 0 && operand.mode == plan::Mode::write && operand.bytes == buffer.bytes;
}

bool Poison::begins_anew(const plan::PlanOp& op, const plan::Operand& operand) {
  return std::find(op.anew.begin(), op.anew.end(), operand.buffer) != op.anew.end();
}

int64_t Poison::end_of(const plan::Operand& operand) const {
  return operand.offset + operand.bytes * plan::parts_of(plan_, operand);
}

template <class Visit>
void Poison::visit(const plan::PlanOp& op, const Visit& visit) {
  for (const plan::Operand& operand : op.operands) {
    if (operand.buffer < 0) continue;
    for (Stretch& stretch : stretches_[size_t(operand.buffer)]) {
      if (stretch.begin >= operand.offset && stretch.end <= end_of(operand)) {
        visit(operand, stretch);
      }
    }
  }
}

void Poison::cut(const plan::Body& body) {
  std::vector<std::vector<int64_t>> borders(plan_.buffers.size());
  for (const plan::PlanOp& op : body.ops) {
    for (const plan::Operand& operand : op.operands) {
      if (operand.buffer < 0) continue;
      borders[size_t(operand.buffer)].push_back(operand.offset);
      borders[size_t(operand.buffer)].push_back(end_of(operand));
    }
  }
  for (size_t b = 0; b < borders.size(); ++b) {
    std::vector<int64_t>& all = borders[b];
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    stretches_[b].clear();
    for (size_t i = 1; i < all.size(); ++i) {
      stretches_[b].push_back({.begin = all[i - 1], .end = all[i]});
    }
  }
}

void Poison::begin(const plan::Body& body) {
  cut(body);
  for (const plan::PlanOp& op : body.ops) {
    visit(op, [&](const plan::Operand& operand, Stretch& stretch) {
      const bool kept = plan_.buffers[size_t(operand.buffer)].persistent;
      const bool anew = fills_copy(operand) || begins_anew(op, operand);
      std::vector<Life>& lives = stretch.lives;
      if (!lives.empty() && anew) lives.back().ends = true;
      if (lives.empty() || anew) lives.push_back({.begins = anew || !kept, .ends = !kept});
      ++lives.back().ops_left;
    });
  }
}

void Poison::before(const plan::PlanOp& op) {
  visit(op, [&](const plan::Operand& operand, Stretch& stretch) {
    Life& life = stretch.lives[stretch.now];
    if (life.begins) fill(operand.buffer, stretch);
    life.begins = false;
  });
}

void Poison::after(const plan::PlanOp& op) {
  visit(op, [&](const plan::Operand& operand, Stretch& stretch) {
    if (--stretch.lives[stretch.now].ops_left > 0) return;
    if (stretch.lives[stretch.now].ends) fill(operand.buffer, stretch);
    if (stretch.now + 1 < stretch.lives.size()) ++stretch.now;
  });
}

void Poison::fill(int32_t buffer, const Stretch& stretch) const {
  const std::span<std::byte> bytes = bytes_of_(buffer);
  std::memset(bytes.data() + stretch.begin, 0xFF, size_t(stretch.end - stretch.begin));
}

}  // namespace zero::run
