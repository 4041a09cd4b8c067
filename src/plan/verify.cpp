#include "zero/plan/verify.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "src/plan/computed.hpp"
#include "src/plan/extents.hpp"
#include "src/plan/findings.hpp"
#include "src/plan/live_buffers.hpp"
#include "src/plan/versions.hpp"

namespace zero::plan {
namespace {

using Clock = std::array<int32_t, kLanes>;

std::string describe(const Body& body, int32_t position) {
  const PlanOp& op = body.ops[size_t(position)];
  return text(body.name, " op ", position, " (", name_of(op.kind), " on ", name_of(op.lane),
              " lane, unit ", op.unit, ", graph op ", op.graph_op, ", micro-batch ", op.micro, ")");
}

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
  int64_t end = 0;
  int32_t buffer = -1;  ///< -1: nothing defined
  int32_t writer = -1;
  Clock readers = {};  ///< position of the latest reader a lane since the write
  Version version = {};
  Computed computed = {};
};

Clock nobody() {
  Clock clock;
  clock.fill(-1);
  return clock;
}

/// Replays one body in its total order against the clocks that lanes and waits give.
class BodyCheck {
 public:
  BodyCheck(const Plan& plan, BodyId id, Findings& findings)
      : plan_(plan),
        body_(plan.bodies[id]),
        findings_(findings),
        started_(body_.ops.size()),
        versions_(plan) {
    for (size_t tier = 0; tier < kTiers; ++tier) {
      content_[tier][0] = {.end = plan.arena_bytes[tier], .readers = nobody()};
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      if (!buffer.persistent || buffer.bytes == 0) continue;
      if (buffer.copy_of >= 0 && id == kReadAhead) continue;
      put(extent_of(buffer), {.buffer = int32_t(b), .version = versions_.latest(int32_t(b))});
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
    const bool transfers = is_transfer(body_.ops[size_t(i)].kind);
    if (!transfers) check_versions(i);
    if (!transfers) check_computed(i);
    // What arrives of a transfer is what was sent.
    const Content sent = transfers ? content_at(extent_of(plan_, operands[0])) : Content{};
    for (size_t k = 0; k < operands.size(); ++k) {
      const Operand& operand = operands[k];
      if (operand.buffer < 0 || operand.mode == Mode::read) continue;
      put(extent_of(plan_, operand),
          {.buffer = operand.buffer,
           .writer = i,
           .version = transfers ? arrived(i, operand, sent.version) : written(operand),
           .computed = transfers ? sent.computed : computed(i, k)});
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
    const bool reads = mode_of(operand) != Mode::write, writes = operand.mode != Mode::read;
    visit(extent_of(plan_, operand), [&](const Content& content) {
      if (reads && content.buffer != operand.buffer) {
        findings_.add(describe(body_, i), " reads ", name(operand.buffer), " where ",
                      name(content.buffer), " lies");
        return false;
      }
      if (content.writer >= 0) require_order(content.writer, i, operand.buffer);
      for (int32_t reader : content.readers) {
        if (writes && reader >= 0) require_order(reader, i, operand.buffer);
      }
      return true;
    });
  }

  void require_order(int32_t earlier, int32_t later, int32_t buffer) {
    if (earlier == later || happens_before(earlier, later)) return;
    findings_.add(describe(body_, later), " touches ", name(buffer), " unordered with ",
                  describe(body_, earlier));
  }

  using Contents = std::map<int64_t, Content>;

  /// Calls visit(content) for the stretches of an extent, until it returns false.
  template <class Visit>
  void visit(const Extent& extent, const Visit& visit) const {
    const Contents& contents = content_[size_t(extent.tier)];
    auto at = std::prev(contents.upper_bound(extent.begin));
    for (; at != contents.end() && at->first < extent.end; ++at) {
      if (!visit(at->second)) return;
    }
  }

  /// What an op computes with must not be a copy from before an update.
  void check_versions(int32_t i) {
    for (const Operand& operand : body_.ops[size_t(i)].operands) {
      if (operand.buffer < 0 || mode_of(operand) == Mode::write) continue;
      visit(extent_of(plan_, operand), [&](const Content& content) {
        if (versions_.is_latest(content.version)) return true;
        findings_.add(describe(body_, i), " reads an old copy of ", name(content.version.state),
                      " in ", name(operand.buffer));
        return false;
      });
    }
  }

  Computed computed(int32_t i, size_t operand) const {
    return computed_of(plan_, body_, body_.ops[size_t(i)], operand);
  }

  /// An op of the graph computes with the activations that it names, wherever they have been.
  void check_computed(int32_t i) {
    const std::vector<Operand>& operands = body_.ops[size_t(i)].operands;
    for (size_t k = 0; k < operands.size(); ++k) {
      const Computed wanted = computed(i, k);
      if (wanted.tensor == graph::kNone || operands[k].mode != Mode::read) continue;
      visit(extent_of(plan_, operands[k]), [&](const Content& content) {
        if (content.computed == wanted) return true;
        findings_.add(describe(body_, i), " finds another tensor in ", name(operands[k].buffer));
        return false;
      });
    }
  }

  /// Version and tensor of all stretches; none where they differ.
  Content content_at(const Extent& extent) const {
    std::optional<Content> all;
    visit(extent, [&](const Content& content) {
      if (!all) all = content;
      if (all->version != content.version) all->version = {};
      if (all->computed != content.computed) all->computed = {};
      return true;
    });
    return all.value_or(Content{});
  }

  Version arrived(int32_t i, const Operand& to, const Version& sent) {
    if (versions_.follows(to.buffer) && sent.state != to.buffer) {
      findings_.add(describe(body_, i), " brings to ", name(to.buffer), " bytes of ",
                    name(sent.state));
    }
    return sent;
  }

  Version written(const Operand& to) {
    const bool anew = mode_of(to) == Mode::write;
    const Version before = anew ? Version{} : content_at(extent_of(plan_, to)).version;
    return versions_.next(versions_.follows(to.buffer) ? to.buffer : before.state);
  }

  void check_kept(int32_t b) {
    const Buffer& buffer = plan_.buffers[size_t(b)];
    if (!buffer.persistent || buffer.bytes == 0) return;
    visit(extent_of(buffer), [&](const Content& content) {
      if (content.buffer != b) {
        findings_.add(body_.name, " ends with ", name(content.buffer), " on the bytes of ",
                      buffer.name);
      } else if (content.version != versions_.latest(b)) {
        findings_.add(body_.name, " ends with an old version of ", name(versions_.latest(b).state),
                      " in ", buffer.name);
      } else {
        return true;
      }
      return false;
    });
  }

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

  /// `content` without its end and readers.
  void put(const Extent& extent, Content content) {
    Contents& contents = cut_at(extent);
    contents.erase(contents.find(extent.begin), contents.lower_bound(extent.end));
    content.end = extent.end;
    content.readers = nobody();
    contents[extent.begin] = content;
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
  Versions versions_;
};

}  // namespace

std::vector<std::string> verify(const Plan& plan, int limit) {
  Findings findings(limit);
  for (int body = 0; body < kBodies; ++body) {
    check_apart(plan, BodyId(body), findings);
    BodyCheck(plan, BodyId(body), findings).run();
  }
  return findings.take();
}

}  // namespace zero::plan
