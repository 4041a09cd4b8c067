#include <algorithm>
#include <array>
#include <map>

#include "src/plan/verify_parts.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {
namespace {

/// The buffers in use at a place of a body, by offset. No two may share a byte.
class LiveBuffers {
 public:
  LiveBuffers(const Plan& plan, const std::string& body, Findings& findings)
      : plan_(plan), body_(body), findings_(findings) {}

  void add(int32_t b) {
    const Buffer& buffer = plan_.buffers[size_t(b)];
    std::multimap<int64_t, int32_t>& live = live_[size_t(buffer.tier)];
    const auto next = live.lower_bound(buffer.offset + buffer.bytes);
    if (next != live.begin()) {
      const Buffer& below = plan_.buffers[size_t(std::prev(next)->second)];
      if (below.offset + below.bytes > buffer.offset) {
        findings_.add(body_, ": ", buffer.name, " and ", below.name,
                      " are in use at the same time and share bytes");
      }
    }
    live.emplace(buffer.offset, b);
  }
  void remove(int32_t b) {
    const Buffer& buffer = plan_.buffers[size_t(b)];
    std::multimap<int64_t, int32_t>& live = live_[size_t(buffer.tier)];
    const auto [first, last] = live.equal_range(buffer.offset);
    const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second == b; });
    if (at != last) live.erase(at);
  }

 private:
  const Plan& plan_;
  const std::string& body_;
  Findings& findings_;
  std::array<std::multimap<int64_t, int32_t>, kTiers> live_;
};

/// The positions where the use of each buffer begins and ends. Two rounds of a loop represent all.
class Uses {
 public:
  Uses(const Plan& plan, BodyId id)
      : plan_(plan),
        rounds_(plan.bodies[id], std::min<int64_t>(plan.bodies[id].loop.rounds, 2)),
        begins_(size_t(rounds_.size()) + 1),
        ends_(begins_.size()),
        since_(plan.buffers.size(), -1),
        last_(plan.buffers.size(), -1) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      if (!buffer.persistent || buffer.bytes == 0) continue;
      if (buffer.copy_of < 0 || id != kReadAhead) since_[b] = 0;
    }
    for (int32_t i = 0; i < int32_t(rounds_.size()); ++i) {
      const PlanOp& op = plan.bodies[id].ops[size_t(rounds_.turn(i).op)];
      for (const int32_t buffer : op.anew) begin_anew(buffer, i);
      for (const Operand& operand : op.operands) touch(operand, i);
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (since_[b] >= 0) add(int32_t(b), since_[b], plan.buffers[b].persistent ? -1 : last_[b]);
    }
  }

  size_t turns() const { return begins_.size() - 1; }
  /// Returns the buffers whose use begins before op i, or ends after it.
  const std::vector<int32_t>& begins(size_t i) const { return begins_[i]; }
  const std::vector<int32_t>& ends(size_t i) const { return ends_[i]; }

 private:
  void touch(const Operand& operand, int32_t i) {
    if (operand.buffer < 0) return;
    const size_t b = size_t(operand.buffer);
    const Buffer& buffer = plan_.buffers[b];
    const bool anew =
        buffer.copy_of >= 0 && operand.mode == Mode::write && operand.bytes == buffer.bytes;
    if (anew) begin_anew(operand.buffer, i);
    if (since_[b] < 0) since_[b] = i;
    last_[b] = i;
  }

  void begin_anew(int32_t buffer, int32_t i) {
    const size_t b = size_t(buffer);
    if (since_[b] >= 0 && last_[b] >= 0) add(buffer, since_[b], last_[b]);
    since_[b] = i;
  }

  /// Adds a use. `last` is -1 if the buffer is kept.
  void add(int32_t buffer, int32_t first, int32_t last) {
    begins_[size_t(first)].push_back(buffer);
    if (last >= 0) ends_[size_t(last)].push_back(buffer);
  }

  const Plan& plan_;
  const Rounds rounds_;
  std::vector<std::vector<int32_t>> begins_, ends_;  ///< [turns + 1]
  std::vector<int32_t> since_;  ///< [buffers] first op of the current use; -1: none
  std::vector<int32_t> last_;   ///< [buffers] last op with the buffer
};

}  // namespace

void check_apart(const Plan& plan, BodyId body, Findings& findings) {
  const Uses uses(plan, body);
  LiveBuffers live(plan, plan.bodies[body].name, findings);
  for (size_t i = 0; i <= uses.turns(); ++i) {
    for (int32_t buffer : uses.begins(i)) live.add(buffer);
    for (int32_t buffer : uses.ends(i)) live.remove(buffer);
  }
}

}  // namespace zero::plan
