#include <algorithm>
#include <optional>

#include "src/plan/verify_parts.hpp"

namespace zero::plan {
namespace {

/// True if an op of `lane` can read, or write, bytes of `tier`. The small lane adds a few words on
/// any tier.
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

/// A replay of a body in total order, against the clocks from lanes and waits. Its micro-batches
/// run in the given forms.
class BodyCheck {
 public:
  BodyCheck(const Plan& plan, BodyId id, const FormPair& forms, Findings& findings)
      : plan_(plan),
        body_(plan.bodies[id]),
        forms_(forms),
        findings_(findings),
        clocks_(body_),
        contents_(plan),
        versions_(plan),
        slots_(plan, body_),
        last_carry_(plan.counters.size(), -1) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      if (!buffer.persistent || buffer.bytes == 0) continue;
      if (buffer.copy_of >= 0 && id == kReadAhead) continue;
      contents_.put(extent_of(buffer),
                    {.buffer = int32_t(b), .version = versions_.latest(int32_t(b))});
    }
  }

  void run() {
    const Loop& loop = body_.loop;
    if (!check_ops(0, loop.begin)) return;
    if (loop.is_there() && !check_loop()) return;
    if (!check_ops(loop.end, int32_t(body_.ops.size()))) return;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) check_kept(int32_t(b));
  }

 private:
  /// Checks ops [begin, end). Returns false if later ops cannot be checked.
  bool check_ops(int32_t begin, int32_t end, int64_t round = 0) {
    for (int32_t op = begin; op < end; ++op) {
      const std::string wrong = clocks_.add({.op = op, .round = round});
      if (!wrong.empty()) {
        findings_.add(wrong);
        return false;
      }
      check_op(turns_++);
    }
    return true;
  }

  /// Checks rounds until one begins in the same state as the previous one. By induction the others
  /// then do nothing new.
  bool check_loop() {
    slots_.cut(contents_);
    int64_t round = 0;
    std::vector<int64_t> last;
    for (; round < body_.loop.rounds; ++round) {
      std::vector<int64_t> now = seam();
      if (round > 0 && now == last) break;
      last = std::move(now);
      if (!check_ops(body_.loop.begin, body_.loop.end, round)) return false;
    }
    if (!plan_.counters.empty() && !check_carries(round, last)) return false;
    clocks_.leave_loop(round);
    return true;
  }

  /// Checks the rounds of a loop that counts. Full slots differ between rounds; all other state
  /// equals `last` at each start of a round. A round uses only the slots of its number of carries.
  /// Therefore one round for each number of carries represents all. It returns to that state and
  /// leaves the full slots that the next round expects.
  bool check_carries(int64_t& round, const std::vector<int64_t>& last) {
    if (!is_right(slots_.wrong()) || !is_right(slots_.fault(contents_, round))) return false;
    for (const int64_t shown : slots_.one_for_each_carry(round)) {
      slots_.fill(contents_, shown, last_carry_);
      ahead_ = shown - round;
      if (!check_ops(body_.loop.begin, body_.loop.end, round++)) return false;
      if (seam() != last) return is_right("a round ends unlike others that carry less often");
      if (!is_right(slots_.fault(contents_, shown + 1))) return false;
    }
    ahead_ = 0;
    slots_.fill(contents_, body_.loop.rounds, last_carry_);
    return true;
  }

  bool is_right(const std::string& fault) {
    if (!fault.empty()) findings_.add(body_.name, ": ", fault);
    return fault.empty();
  }

  /// Returns the state that later ops can observe: contents of bytes, and ops that may still touch
  /// them. The micro-batch of an activation is irrelevant, because it is always an earlier one.
  std::vector<int64_t> seam() {
    clocks_.mark_seam();
    std::vector<int64_t> key;
    clocks_.add_knowledge(key);
    for (size_t tier = 0; tier < kTiers; ++tier) {
      for (const auto& [begin, content] : contents_.stretches(tier)) {
        if (slots_.lies_in_slot(tier, begin)) continue;
        key.insert(key.end(), {begin, content.end, content.buffer, content.version.state,
                               content.version.number});
        clocks_.add_seen(content.writer, key);
        for (const int32_t reader : content.readers) clocks_.add_seen(reader, key);
      }
    }
    return key;
  }

  const PlanOp& op(int32_t i) const { return clocks_.op(i); }
  std::string describe(int32_t i) const { return clocks_.describe(i); }
  /// Returns the extent over all rounds. Bytes that differ between rounds are only read, and no
  /// other op touches them.
  Extent extent(const Operand& operand) const {
    return extent_of(plan_, operand, body_.loop.rounds);
  }

  void check_op(int32_t i) {
    const bool as_listed = !op(i).counts && plan_.shorter[size_t(body_.graph)].empty();
    const std::vector<Operand> others = as_listed ? std::vector<Operand>() : operands_of(i);
    const std::vector<Operand>& operands = as_listed ? op(i).operands : others;
    for (const int32_t buffer : op(i).anew) forget(i, buffer);
    for (const Operand& operand : operands) {
      if (operand.buffer < 0) continue;
      if (!in_bounds(i, operand) || !in_reach(i, operand)) return;
      check_access(i, operand);
      if (op(i).counts && !is_right(slots_.fault(contents_, operand))) return;
    }
    const bool transfers = is_transfer(op(i).kind);
    if (!transfers) check_versions(i, operands);
    if (!transfers) check_computed(i, operands);
    // A transfer delivers the content that was sent, and a gather across groups its version.
    const bool delivers = transfers || joins_copy(i);
    const Content sent = delivers ? content_at(extent(operands[kSource])) : Content{};
    for (size_t k = 0; k < operands.size(); ++k) {
      const Operand& operand = operands[k];
      if (operand.buffer < 0 || operand.mode == Mode::read) continue;
      contents_.put(extent(operand), {.buffer = operand.buffer,
                                      .writer = i,
                                      .version = delivers ? arrived(i, operand, sent.version)
                                                          : written(i, k, operand),
                                      .computed = transfers ? sent.computed : computed(i, k),
                                      .counted = op(i).counts});
    }
    for (const Operand& operand : operands) {
      if (operand.buffer < 0) continue;
      contents_.change(extent(operand),
                       [&](Content& content) { content.readers[size_t(op(i).lane)] = i; });
    }
    end_groups(i, operands);
  }

  /// True if an op gathers the parts of an updated weight into a copy of it.
  bool joins_copy(int32_t i) const {
    return op(i).kind == Kind::all_gather && op(i).team == Team::across &&
           !versions_.follows(op(i).operands[kTarget].buffer);
  }

  /// Returns the operands in the current round.
  std::vector<Operand> operands_of(int32_t i) const {
    const Turn& turn = clocks_.turn(i);
    if (!op(i).counts) return operands_in_form(plan_, body_, op(i), forms_.of(clocks_.micro(i)));
    return operands_in(plan_, op(i), carries_of(body_, op(i), turn.round + ahead_));
  }

  /// Ends the sums that a carry has added up.
  void end_groups(int32_t i, const std::vector<Operand>& operands) {
    if (op(i).kind != Kind::carry) return;
    if (op(i).counts) last_carry_[size_t(op(i).unit)] = i;
    for (const Operand& operand : operands) {
      if (operand.mode == Mode::read) forget(i, operand.buffer);
    }
  }

  /// Marks the bytes of a buffer as undefined. Ops that may still touch them stay recorded.
  void forget(int32_t i, int32_t b) {
    const Buffer& buffer = plan_.buffers[size_t(b)];
    if (buffer.persistent || buffer.offset < 0) {
      findings_.add(describe(i), " begins ", buffer.name, " anew, which lasts or has no place");
      return;
    }
    contents_.change(extent_of(buffer), [b](Content& content) {
      if (content.buffer != b) return;
      content.buffer = -1;
      content.version = {};
      content.computed = {};
      content.counted = false;
    });
  }

  bool in_bounds(int32_t i, const Operand& operand) {
    const Buffer& buffer = plan_.buffers[size_t(operand.buffer)];
    const Extent extent = this->extent(operand);
    const bool inside = extent.begin >= buffer.offset && operand.bytes > 0 && buffer.offset >= 0 &&
                        extent.end <= buffer.offset + buffer.bytes &&
                        extent.end <= plan_.arena_bytes[size_t(buffer.tier)];
    if (!inside) findings_.add(describe(i), " reaches outside buffer ", buffer.name);
    const bool reads = operand.mode == Mode::read, keeps = operand.stride == 0 || reads;
    if (!keeps) findings_.add(describe(i), " writes to ", buffer.name, " elsewhere in each round");
    const bool may = reads || buffer.use != Use::constants;
    if (!may) findings_.add(describe(i), " writes ", buffer.name, ", a constant");
    return inside && keeps && may;
  }

  bool in_reach(int32_t i, const Operand& operand) {
    const Tier tier = plan_.buffers[size_t(operand.buffer)].tier;
    const bool reached = reaches(op(i).lane, tier, operand.mode == Mode::read);
    if (!reached) {
      findings_.add(describe(i), " cannot touch ", name(operand.buffer), " on tier ",
                    name_of(tier));
    }
    return reached;
  }

  void check_access(int32_t i, const Operand& operand) {
    const bool reads = mode_of(operand) != Mode::write, writes = operand.mode != Mode::read;
    contents_.visit(extent(operand), [&](const Content& content) {
      if (reads && content.buffer != operand.buffer) {
        findings_.add(describe(i), " reads ", name(operand.buffer), " where ", name(content.buffer),
                      " lies");
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
    if (earlier == later || clocks_.happens_before(earlier, later)) return;
    findings_.add(describe(later), " touches ", name(buffer), " unordered with ",
                  describe(earlier));
  }

  /// Reports an op that reads a copy older than the latest update.
  void check_versions(int32_t i, const std::vector<Operand>& operands) {
    for (size_t k = 0; k < operands.size(); ++k) {
      const Operand& operand = operands[k];
      if (operand.buffer < 0 || mode_of(operand) == Mode::write || is_room(i, k)) continue;
      contents_.visit(extent(operand), [&](const Content& content) {
        if (versions_.is_latest(content.version)) return true;
        findings_.add(describe(i), " reads an old copy of ", name(content.version.state), " in ",
                      name(operand.buffer));
        return false;
      });
    }
  }

  /// True if the operand belongs to a second copy, which holds a guess or its remains.
  bool is_room(int32_t i, size_t operand) const {
    return has_second(op(i).kind) && operand >= second_operand(plan_.request.optimizer);
  }

  Computed computed(int32_t i, size_t operand) const {
    return computed_of(plan_, body_, op(i), clocks_.micro(i), operand);
  }

  /// Reports an op of the graph that reads another tensor than it names, also after transfers.
  void check_computed(int32_t i, const std::vector<Operand>& operands) {
    for (size_t k = 0; k < operands.size(); ++k) {
      const Computed wanted = computed(i, k);
      if (wanted.tensor == graph::kNone || operands[k].mode != Mode::read) continue;
      contents_.visit(extent(operands[k]), [&](const Content& content) {
        if (content.computed == wanted) return true;
        findings_.add(describe(i), " finds another tensor in ", name(operands[k].buffer));
        return false;
      });
    }
  }

  /// Returns the common version and tensor of all stretches; empty if they differ.
  Content content_at(const Extent& extent) const {
    std::optional<Content> all;
    contents_.visit(extent, [&](const Content& content) {
      if (!all) all = content;
      if (all->version != content.version) all->version = {};
      if (all->computed != content.computed) all->computed = {};
      return true;
    });
    return all.value_or(Content{});
  }

  Version arrived(int32_t i, const Operand& to, const Version& sent) {
    if (versions_.follows(to.buffer) && sent.state != to.buffer) {
      findings_.add(describe(i), " brings to ", name(to.buffer), " bytes of ", name(sent.state));
    }
    return sent;
  }

  /// Returns the version that an operand's write makes. A speculated update has none until settle
  /// makes it the weight's.
  Version written(int32_t i, size_t operand, const Operand& to) {
    if (is_room(i, operand)) {
      const bool is_weight = operand == second_operand(plan_.request.optimizer);
      const bool settles = op(i).kind == Kind::settle && is_weight;
      return settles ? versions_.next(plan_.units[size_t(op(i).unit)].weight) : Version{};
    }
    const bool anew = mode_of(to) == Mode::write;
    const Version before = anew ? Version{} : content_at(extent(to)).version;
    return versions_.next(versions_.follows(to.buffer) ? to.buffer : before.state);
  }

  void check_kept(int32_t b) {
    const Buffer& buffer = plan_.buffers[size_t(b)];
    if (!buffer.persistent || buffer.bytes == 0) return;
    contents_.visit(extent_of(buffer), [&](const Content& content) {
      if (content.buffer != b) {
        findings_.add(body_.name, " ends with ", name(content.buffer), " on the bytes of ",
                      buffer.name);
      } else if (buffer.use != Use::speculation && content.version != versions_.latest(b)) {
        findings_.add(body_.name, " ends with an old version of ", name(versions_.latest(b).state),
                      " in ", buffer.name);
      } else {
        return true;
      }
      return false;
    });
  }

  std::string name(int32_t buffer) const {
    return buffer < 0 ? "nothing" : plan_.buffers[size_t(buffer)].name;
  }

  const Plan& plan_;
  const Body& body_;
  const FormPair forms_;
  Findings& findings_;
  TurnClocks clocks_;
  int32_t turns_ = 0;
  Contents contents_;
  Versions versions_;
  const SlotSchedule slots_;
  std::vector<int32_t> last_carry_;  ///< [units] turn of the last carry
  int64_t ahead_ = 0;                ///< rounds between the turns' round and the simulated one
};

/// Checks a body in all pairs of forms, up to the first that fails.
void check_body(const Plan& plan, BodyId id, Findings& findings) {
  const Body& body = plan.bodies[id];
  for (const FormPair& forms : form_pairs(plan, body)) {
    Findings found(findings.limit());
    BodyCheck(plan, id, forms, found).run();
    if (found.count() == 0) continue;
    if (plan.forms(body.graph) > 1) {
      findings.add(body.name, ", its micro-batches in forms ", forms.even, " and ", forms.odd,
                   " in turn:");
    }
    for (const std::string& one : found.take()) findings.add(one);
    return;
  }
}

}  // namespace

std::vector<std::string> verify(const Plan& plan, int limit) {
  Findings findings(limit);
  check_forms(plan, findings);
  if (findings.count() > 0) return findings.take();
  for (int body = 0; body < kBodies; ++body) {
    check_apart(plan, BodyId(body), findings);
    check_body(plan, BodyId(body), findings);
    check_teams(plan, BodyId(body), findings);
  }
  return findings.take();
}

}  // namespace zero::plan
