#include "zero/plan/lifetimes.hpp"

#include <algorithm>

namespace zero::plan {
namespace {

class Lives {
 public:
  explicit Lives(const Plan& plan) : plan_(plan), place_(plan.buffers.size(), -1) {
    for (size_t b = 0; b < place_.size(); ++b) {
      if (plan.buffers[b].copy_of >= 0) begin(int32_t(b), 0);
    }
  }

  /// Ends the buffer's content before `position`, even if it had more time, and begins anew.
  void begin_anew(int32_t buffer, int32_t position) {
    const int32_t before = place_[size_t(buffer)];
    if (before >= 0) {
      int32_t& death = lives_[size_t(before)].death;
      death = std::min(death, position - 1);
    }
    begin(buffer, position);
  }

  void touch(const Operand& operand, int32_t position, int32_t done_by) {
    const Buffer& buffer = plan_.buffers[size_t(operand.buffer)];
    const bool copy = buffer.copy_of >= 0;
    if (buffer.persistent && !copy) return;
    const bool fills = copy && operand.mode == Mode::write && operand.bytes == buffer.bytes;
    if (fills || place_[size_t(operand.buffer)] < 0) begin(operand.buffer, position);
    Lifetime& life = lives_[size_t(place_[size_t(operand.buffer)])];
    life.death = std::max(life.death, done_by);
  }

  /// Returns the lives. Copies live to the end.
  std::vector<Lifetime> take(int32_t end) {
    for (size_t b = 0; b < place_.size(); ++b) {
      if (plan_.buffers[b].copy_of >= 0) lives_[size_t(place_[b])].death = end;
    }
    std::erase_if(lives_, [](const Lifetime& life) { return life.death < life.birth; });
    return std::move(lives_);
  }

 private:
  void begin(int32_t buffer, int32_t position) {
    place_[size_t(buffer)] = int32_t(lives_.size());
    lives_.push_back({.buffer = buffer, .birth = position, .death = position - 1});
  }

  const Plan& plan_;
  std::vector<int32_t> place_;  ///< [buffers] index of the current life
  std::vector<Lifetime> lives_;
};

}  // namespace

std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body) {
  Lives lives(plan);
  for (size_t i = 0; i < body.ops.size(); ++i) {
    for (const int32_t buffer : body.ops[i].anew) lives.begin_anew(buffer, int32_t(i));
    for (const Operand& operand : body.ops[i].operands) {
      if (operand.buffer >= 0) lives.touch(operand, int32_t(i), body.ops[i].done_by);
    }
  }
  return lives.take(int32_t(body.ops.size()) - 1);
}

}  // namespace zero::plan
