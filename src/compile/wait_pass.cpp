#include <algorithm>
#include <functional>
#include <map>

#include "src/compile/passes.hpp"
#include "zero/plan/lifetimes.hpp"

namespace zero::plan {
namespace {

/// The last ops that touched a stretch of the arena.
struct Touched {
  int64_t end;
  int32_t writer;                         ///< position in the body; -1: none
  std::array<int32_t, kLanes> readers{};  ///< latest per lane since the write; -1: none
};

/// A record of a body's accesses in total order, to find the earlier ops that an op conflicts with.
class ConflictMap {
 public:
  /// Appends to `before` the earlier ops that must finish before `op` touches the extent, then
  /// records `op`.
  void touch(const Extent& extent, Mode mode, int32_t op, Lane lane, std::vector<int32_t>& before) {
    cut(extent.begin);
    cut(extent.end);
    fill_holes(extent);
    const auto first = map_.find(extent.begin), last = map_.lower_bound(extent.end);
    for (auto at = first; at != last; ++at) {
      before.push_back(at->second.writer);
      if (mode == Mode::read) {
        at->second.readers[size_t(lane)] = op;
      } else {
        before.insert(before.end(), at->second.readers.begin(), at->second.readers.end());
      }
    }
    if (mode == Mode::read) return;
    map_.erase(first, last);
    map_[extent.begin] = nobody(extent.end);
    map_[extent.begin].writer = op;
  }

 private:
  static Touched nobody(int64_t end) {
    Touched touched{.end = end, .writer = -1};
    touched.readers.fill(-1);
    return touched;
  }

  void cut(int64_t at) {
    auto next = map_.upper_bound(at);
    if (next == map_.begin()) return;
    auto holder = std::prev(next);
    if (holder->first == at || holder->second.end <= at) return;
    Touched upper = holder->second;
    holder->second.end = at;
    map_[at] = upper;
  }

  void fill_holes(const Extent& extent) {
    int64_t at = extent.begin;
    while (at < extent.end) {
      const auto next = map_.lower_bound(at);
      if (next != map_.end() && next->first == at) {
        at = next->second.end;
        continue;
      }
      const int64_t end = next == map_.end() ? extent.end : std::min(extent.end, next->first);
      map_[at] = nobody(end);
      at = end;
    }
  }

  std::map<int64_t, Touched> map_;
};

/// Adds the waits that `before` requires and `known` does not imply. It takes the latest op first.
/// Later waits imply the waits of the op waited for, so none is redundant.
void add_waits(const Body& body, const std::vector<LaneClock>& done, std::vector<int32_t>& before,
               LaneClock& known, std::vector<Wait>& waits) {
  std::sort(before.begin(), before.end(), std::greater<>());
  for (int32_t earlier : before) {
    if (earlier < 0) break;
    const PlanOp& op = body.ops[size_t(earlier)];
    if (known[size_t(op.lane)] > op.index) continue;
    waits.push_back({.lane = op.lane, .count = op.index + 1});
    raise(known, done[size_t(earlier)]);
  }
}

}  // namespace

void place_waits(const Plan& plan, Body& body) {
  std::array<ConflictMap, kTiers> conflicts;
  std::vector<LaneClock> done(body.ops.size());
  std::array<int32_t, kLanes> last;
  last.fill(-1);
  std::vector<int32_t> before;
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    PlanOp& op = body.ops[size_t(i)];
    before.clear();
    for (const Operand& operand : op.operands) {
      if (operand.buffer < 0) continue;
      const Extent extent = extent_of(plan, operand);
      conflicts[size_t(extent.tier)].touch(extent, mode_of(operand), i, op.lane, before);
    }
    std::erase(before, i);
    if (!plan.request.overlap && i > 0) before.push_back(i - 1);
    LaneClock known{};
    if (const int32_t previous = last[size_t(op.lane)]; previous >= 0)
      known = done[size_t(previous)];
    op.waits.clear();
    add_waits(body, done, before, known, op.waits);
    done[size_t(i)] = known;
    done[size_t(i)][size_t(op.lane)] = op.index + 1;
    last[size_t(op.lane)] = i;
  }
}

}  // namespace zero::plan
