#include <algorithm>

#include "src/compile/passes.hpp"

namespace zero::plan {
namespace {

/// The first and last ops with a buffer.
struct Named {
  int32_t first = -1, last = -1;
};

class Folder {
 public:
  Folder(Plan& plan, Body& body, const MiddlePair& pair)
      : plan_(plan),
        body_(body),
        pair_(pair),
        next_(plan.buffers.size(), -1),
        before_(plan.buffers.size(), -1),
        named_(plan.buffers.size()) {}

  bool run() {
    if (pair_.second - pair_.first != pair_.end - pair_.second) return false;
    for (int32_t i = pair_.first; i < pair_.second; ++i) {
      if (!match(body_.ops[size_t(i)], body_.ops[size_t(i + length())])) return false;
    }
    find_named();
    if (!take_turns()) return false;
    begin_anew();
    rename();
    drop_unused();
    body_.loop = {.begin = pair_.second,
                  .end = pair_.end,
                  .rounds = pair_.rounds,
                  .micro_batches = pair_.micro_batches};
    return true;
  }

 private:
  int32_t length() const { return pair_.second - pair_.first; }

  static bool same_work(const PlanOp& a, const PlanOp& b) {
    return a.kind == b.kind && a.lane == b.lane && a.unit == b.unit && a.graph_op == b.graph_op &&
           a.in == b.in && a.out == b.out && a.round_gradient == b.round_gradient &&
           a.add == b.add && a.sums == b.sums && a.counts == b.counts && a.team == b.team &&
           a.shard_numel == b.shard_numel && a.piece_begin == b.piece_begin &&
           a.piece_numel == b.piece_numel && a.operands.size() == b.operands.size();
  }

  bool match(const PlanOp& a, PlanOp& b) {
    const bool moves_on = a.kind == Kind::compute || a.counts;
    const int32_t later = moves_on ? pair_.micro_batches : 0;
    if (!same_work(a, b) || b.micro - a.micro != later) return false;
    for (size_t k = 0; k < a.operands.size(); ++k) {
      if (!match(a.operands[k], b.operands[k])) return false;
    }
    return true;
  }

  /// True if operands match. In one buffer the offsets may differ, as for inputs.
  bool match(const Operand& a, Operand& b) {
    if (a.bytes != b.bytes || a.mode != b.mode) return false;
    if (a.sharded != b.sharded || a.team != b.team) return false;
    if ((a.buffer < 0) != (b.buffer < 0)) return false;
    if (a.buffer < 0) return true;
    b.stride = b.offset - a.offset;
    if (a.buffer != b.buffer && b.stride != 0) return false;
    return follow(a.buffer, b.buffer);
  }

  /// Notes that a round uses `b` where the previous one uses `a`. False if they cannot correspond.
  bool follow(int32_t a, int32_t b) {
    int32_t &next = next_[size_t(a)], &before = before_[size_t(b)];
    if (next >= 0 || before >= 0) return next == b && before == a;
    next = b;
    before = a;
    if (a == b) return true;
    const Buffer &from = plan_.buffers[size_t(a)], &to = plan_.buffers[size_t(b)];
    return !from.persistent && !to.persistent && from.bytes == to.bytes && from.tier == to.tier &&
           from.use == to.use;
  }

  void find_named() {
    for (int32_t i = 0; i < int32_t(body_.ops.size()); ++i) {
      for (const Operand& operand : body_.ops[size_t(i)].operands) {
        if (operand.buffer < 0) continue;
        Named& named = named_[size_t(operand.buffer)];
        if (named.first < 0) named.first = i;
        named.last = i;
      }
    }
  }

  /// True if each buffer's successor, which takes its bytes, begins after its last use.
  bool take_turns() const {
    for (size_t b = 0; b < next_.size(); ++b) {
      const int32_t next = next_[b];
      if (next < 0 || next == int32_t(b)) continue;
      if (named_[size_t(next)].first <= named_[b].last) return false;
    }
    return true;
  }

  void begin_anew() {
    for (size_t b = 0; b < next_.size(); ++b) {
      const bool follows = before_[b] >= 0 && before_[b] != int32_t(b);
      const bool is_followed = next_[b] >= 0 && next_[b] != int32_t(b);
      if (!follows && !is_followed) continue;
      // A buffer that begins before both stretches begins only once.
      if (named_[b].first < pair_.first) continue;
      body_.ops[size_t(named_[b].first)].anew.push_back(root(int32_t(b)));
    }
  }

  int32_t root(int32_t b) const {
    while (before_[size_t(b)] >= 0 && before_[size_t(b)] != b) b = before_[size_t(b)];
    return b;
  }

  void rename() {
    for (PlanOp& op : body_.ops) {
      for (Operand& operand : op.operands) {
        if (operand.buffer >= 0) operand.buffer = root(operand.buffer);
      }
    }
  }

  void drop_unused() {
    std::vector<int32_t> place(plan_.buffers.size());
    size_t kept = 0;
    for (size_t b = 0; b < place.size(); ++b) {
      place[b] = int32_t(kept);
      if (root(int32_t(b)) != int32_t(b)) continue;
      if (kept != b) plan_.buffers[kept] = std::move(plan_.buffers[b]);
      ++kept;
    }
    plan_.buffers.resize(kept);
    for (std::vector<int32_t>& slots : plan_.counters) {
      for (int32_t& slot : slots) slot = place[size_t(slot)];
    }
    for (PlanOp& op : body_.ops) {
      for (int32_t& buffer : op.anew) buffer = place[size_t(buffer)];
      for (Operand& operand : op.operands) {
        if (operand.buffer >= 0) operand.buffer = place[size_t(operand.buffer)];
      }
    }
  }

  Plan& plan_;
  Body& body_;
  const MiddlePair pair_;
  std::vector<int32_t> next_;    ///< [buffers] counterpart in the second stretch
  std::vector<int32_t> before_;  ///< [buffers] inverse of next_
  std::vector<Named> named_;     ///< [buffers]
};

}  // namespace

bool fold(Plan& plan, Body& body, const MiddlePair& pair) { return Folder(plan, body, pair).run(); }

}  // namespace zero::plan
