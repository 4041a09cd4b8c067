#include "zero/plan/verify.hpp"

#include <algorithm>
#include <map>

#include "src/plan/extents.hpp"

namespace zero::plan {
namespace {

using Clock = std::array<int32_t, kLanes>;

std::string describe(const Body& body, int32_t position) {
  const PlanOp& op = body.ops[size_t(position)];
  return text(body.name, " op ", position, " (", name_of(op.kind), " on ", name_of(op.lane),
              " lane, unit ", op.unit, ", graph op ", op.graph_op, ", micro-batch ", op.micro, ")");
}

class Findings {
 public:
  explicit Findings(int limit) : limit_(size_t(limit)) {}
  template <class... Parts>
  void add(const Parts&... parts) {
    if (list_.size() < limit_) list_.push_back(text(parts...));
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  size_t limit_;
  std::vector<std::string> list_;
};

/// Whether an op of a lane can read, or write, bytes of a tier. The small lane adds a few words,
/// wherever they are made.
bool reaches(Lane lane, Tier tier, bool reads) {
  switch (lane) {
    case Lane::h2d:
      return tier == (reads ? Tier::host : Tier::device);
    case Lane::d2h:
      return tier == (reads ? Tier::device : Tier::host);
    case Lane::disk_read:
      return tier == (reads ? Tier::nvme : Tier::host);
    case Lane::disk_write:
      return tier == (reads ? Tier::host : Tier::nvme);
    case Lane::host_optimizer:
      return tier == Tier::host;
    case Lane::small:
      return tier != Tier::nvme;
    default:
      return tier == Tier::device;
  }
}

/// A stretch of an arena: whose bytes it holds and who may still be touching it.
struct Content {
  int64_t end;
  int32_t buffer;  ///< -1: nothing defined
  int32_t writer;
  Clock readers;  ///< position of the latest reader a lane since the write
};

Clock nobody() {
  Clock clock;
  clock.fill(-1);
  return clock;
}

/// Replays one body in its total order against the clocks that lanes and waits give.
class BodyCheck {
 public:
  BodyCheck(const Plan& plan, const Body& body, Findings& findings)
      : plan_(plan), body_(body), findings_(findings), started_(body.ops.size()) {
    for (size_t tier = 0; tier < kTiers; ++tier) {
      content_[tier][0] = {plan.arena_bytes[tier], -1, -1, nobody()};
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      if (buffer.persistent && buffer.bytes > 0) put(extent_of(buffer), int32_t(b), -1);
    }
  }

  void run() {
    if (!find_clocks()) return;
    for (int32_t i = 0; i < int32_t(body_.ops.size()); ++i) check_op(i);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) check_kept(int32_t(b));
  }

 private:
  /// started_[i]: ops of each lane that have finished for sure when op i starts.
  bool find_clocks() {
    std::array<std::vector<int32_t>, kLanes> lane_ops;
    for (int32_t i = 0; i < int32_t(body_.ops.size()); ++i) {
      const PlanOp& op = body_.ops[size_t(i)];
      std::vector<int32_t>& own = lane_ops[size_t(op.lane)];
      Clock clock{};
      if (!own.empty()) clock = finished(own.back());
      for (const Wait& wait : op.waits) {
        const std::vector<int32_t>& other = lane_ops[size_t(wait.lane)];
        if (wait.count < 1 || wait.count > int32_t(other.size())) {
          findings_.add(describe(body_, i), " waits for op ", wait.count, " of the ",
                        name_of(wait.lane), " lane, which does not come before it");
          return false;
        }
        const Clock theirs = finished(other[size_t(wait.count) - 1]);
        for (size_t l = 0; l < clock.size(); ++l) clock[l] = std::max(clock[l], theirs[l]);
      }
      if (op.index != int32_t(own.size())) {
        findings_.add(describe(body_, i), " is numbered ", op.index, " in its lane");
        return false;
      }
      started_[size_t(i)] = clock;
      own.push_back(i);
    }
    return true;
  }

  Clock finished(int32_t position) const {
    Clock clock = started_[size_t(position)];
    const PlanOp& op = body_.ops[size_t(position)];
    clock[size_t(op.lane)] = op.index + 1;
    return clock;
  }

  bool happens_before(int32_t earlier, int32_t later) const {
    const PlanOp& op = body_.ops[size_t(earlier)];
    return started_[size_t(later)][size_t(op.lane)] > op.index;
  }

  void check_op(int32_t i) {
    const std::vector<Operand>& operands = body_.ops[size_t(i)].operands;
    for (const Operand& operand : operands) {
      if (operand.buffer < 0) continue;
      if (!in_bounds(i, operand) || !in_reach(i, operand)) return;
      check_access(i, operand);
    }
    for (const Operand& operand : operands) {
      if (operand.buffer >= 0 && operand.mode != Mode::read) {
        put(extent_of(plan_, operand), operand.buffer, i);
      }
    }
    for (const Operand& operand : operands) {
      if (operand.buffer >= 0) record(extent_of(plan_, operand), i);
    }
  }

  bool in_bounds(int32_t i, const Operand& operand) {
    const Buffer& buffer = plan_.buffers[size_t(operand.buffer)];
    const Extent extent = extent_of(plan_, operand);
    const bool inside = operand.offset >= 0 && operand.bytes > 0 && buffer.offset >= 0 &&
                        extent.end <= buffer.offset + buffer.bytes &&
                        extent.end <= plan_.arena_bytes[size_t(buffer.tier)];
    if (!inside) findings_.add(describe(body_, i), " reaches outside buffer ", buffer.name);
    return inside;
  }

  bool in_reach(int32_t i, const Operand& operand) {
    const Tier tier = plan_.buffers[size_t(operand.buffer)].tier;
    const bool reached = reaches(body_.ops[size_t(i)].lane, tier, operand.mode == Mode::read);
    if (!reached) {
      findings_.add(describe(body_, i), " cannot touch ", name(operand.buffer), " on tier ",
                    name_of(tier));
    }
    return reached;
  }

  void check_access(int32_t i, const Operand& operand) {
    const Extent extent = extent_of(plan_, operand);
    const bool reads = mode_of(operand) != Mode::write, writes = operand.mode != Mode::read;
    Contents& contents = content_[size_t(extent.tier)];
    auto at = std::prev(contents.upper_bound(extent.begin));
    for (; at != contents.end() && at->first < extent.end; ++at) {
      const Content& content = at->second;
      if (reads && content.buffer != operand.buffer) {
        findings_.add(describe(body_, i), " reads ", name(operand.buffer), " where ",
                      name(content.buffer), " lies");
        return;
      }
      if (content.writer >= 0) require_order(content.writer, i, operand.buffer);
      for (int32_t reader : content.readers) {
        if (writes && reader >= 0) require_order(reader, i, operand.buffer);
      }
    }
  }

  void require_order(int32_t earlier, int32_t later, int32_t buffer) {
    if (earlier == later || happens_before(earlier, later)) return;
    findings_.add(describe(body_, later), " touches ", name(buffer), " unordered with ",
                  describe(body_, earlier));
  }

  void check_kept(int32_t b) {
    const Buffer& buffer = plan_.buffers[size_t(b)];
    if (!buffer.persistent || buffer.bytes == 0) return;
    const Contents& contents = content_[size_t(buffer.tier)];
    auto at = std::prev(contents.upper_bound(buffer.offset));
    for (; at != contents.end() && at->first < buffer.offset + buffer.bytes; ++at) {
      if (at->second.buffer == b) continue;
      findings_.add(body_.name, " ends with ", name(at->second.buffer), " on the bytes of ",
                    buffer.name);
      return;
    }
  }

  using Contents = std::map<int64_t, Content>;

  static void cut(Contents& contents, int64_t at) {
    const auto holder = std::prev(contents.upper_bound(at));
    if (holder->first == at || at >= holder->second.end) return;
    Content upper = holder->second;
    holder->second.end = at;
    contents[at] = upper;
  }

  /// The stretches of a tier, with borders where the extent has its own.
  Contents& cut_at(const Extent& extent) {
    Contents& contents = content_[size_t(extent.tier)];
    cut(contents, extent.begin);
    cut(contents, extent.end);
    return contents;
  }

  void put(const Extent& extent, int32_t buffer, int32_t writer) {
    Contents& contents = cut_at(extent);
    contents.erase(contents.find(extent.begin), contents.lower_bound(extent.end));
    contents[extent.begin] = {extent.end, buffer, writer, nobody()};
  }

  void record(const Extent& extent, int32_t reader) {
    Contents& contents = cut_at(extent);
    const auto last = contents.lower_bound(extent.end);
    for (auto at = contents.find(extent.begin); at != last; ++at) {
      at->second.readers[size_t(body_.ops[size_t(reader)].lane)] = reader;
    }
  }

  std::string name(int32_t buffer) const {
    return buffer < 0 ? "nothing" : plan_.buffers[size_t(buffer)].name;
  }

  const Plan& plan_;
  const Body& body_;
  Findings& findings_;
  std::vector<Clock> started_;
  std::array<Contents, kTiers> content_;
};

/// Buffers in use at one place of a body, by offset; no two may share a byte.
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

/// A buffer is in use from the first to the last op that names it; what rests between bodies is
/// always in use, also where a body writes it anew: the gaps between a unit's tensors stay zero.
void check_apart(const Plan& plan, const Body& body, Findings& findings) {
  std::vector<int32_t> last(plan.buffers.size(), -1);
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    for (const Operand& operand : body.ops[size_t(i)].operands) {
      if (operand.buffer >= 0) last[size_t(operand.buffer)] = i;
    }
  }
  LiveBuffers live(plan, body.name, findings);
  std::vector<bool> begun(plan.buffers.size(), false);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    begun[b] = plan.buffers[b].persistent;
    if (begun[b] && plan.buffers[b].bytes > 0) live.add(int32_t(b));
  }
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    for (const Operand& operand : body.ops[size_t(i)].operands) {
      if (operand.buffer < 0 || begun[size_t(operand.buffer)]) continue;
      begun[size_t(operand.buffer)] = true;
      live.add(operand.buffer);
    }
    for (const Operand& operand : body.ops[size_t(i)].operands) {
      if (operand.buffer < 0 || last[size_t(operand.buffer)] != i) continue;
      if (!plan.buffers[size_t(operand.buffer)].persistent) live.remove(operand.buffer);
    }
  }
}

}  // namespace

std::vector<std::string> verify(const Plan& plan, int limit) {
  Findings findings(limit);
  for (const Body& body : plan.bodies) {
    check_apart(plan, body, findings);
    BodyCheck(plan, body, findings).run();
  }
  return findings.take();
}

}  // namespace zero::plan
