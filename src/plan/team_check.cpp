#include <optional>
#include <string>
#include <vector>

#include "src/plan/verify_parts.hpp"

namespace zero::plan {
namespace {

/// The part of a unit that a rank's bytes are. Teams cut a part into the next and join it again.
enum class Part : uint8_t { whole, weight_shard, shard };

/// The ranks over which bytes are summed. `nobody`: bytes are no gradient.
enum class Over : uint8_t { nobody, rank, group, all };

const char* name_of(Part part) {
  constexpr const char* kNames[] = {"a whole unit", "a weight shard", "a shard"};
  return kNames[size_t(part)];
}
const char* name_of(Over over) {
  constexpr const char* kNames[] = {"nobody", "a rank", "a group", "all ranks"};
  return kNames[size_t(over)];
}

struct Held {
  Part part = Part::whole;
  Over over = Over::nobody;
  bool is_joined = true;    ///< false: this rank has only its own part of it up to date
  bool is_awaited = false;  ///< a gradient at rest: a micro-batch has newer ones
};

/// A walk through a body in its order that follows what ranks hold and have summed.
class TeamCheck {
 public:
  TeamCheck(const Plan& plan, const Body& body, Findings& findings)
      : plan_(plan),
        body_(body),
        findings_(findings),
        parameter_of_(graph::parameter_index(plan.graphs[size_t(body.graph)])),
        held_(plan.buffers.size()),
        moved_(plan.buffers.size()) {
    for (const Unit& unit : plan.units) begin(unit);
    begin_whole_gradients();
  }

  void run() {
    for (place_ = 0; place_ < body_.ops.size(); ++place_) follow(op());
    for (const Unit& unit : plan_.units) {
      if (!held(unit.weight).is_joined) tell("leaves parts of ", name(unit.weight), " apart");
      const bool sums = !unit.frozen && unit.gradient >= 0;
      if (sums && held(unit.gradient).is_awaited) tell("sums nothing to ", name(unit.gradient));
      if (sums && held(unit.gradient).over != Over::all) {
        tell("leaves ", name(unit.gradient), " summed over ", name_of(held(unit.gradient).over));
      }
    }
  }

 private:
  const PlanOp& op() const { return body_.ops[place_]; }
  Held& held(int32_t buffer) { return held_[size_t(buffer)]; }
  const std::string& name(int32_t buffer) const { return plan_.buffers[size_t(buffer)].name; }
  bool is_apart() const { return plan_.request.has_groups(); }
  static Part part_of_states(const Unit& unit) {
    return unit.optimizer_sharded ? Part::shard : Part::whole;
  }

  template <class... Parts>
  void tell(const Parts&... parts) {
    if (place_ == body_.ops.size()) return findings_.add(body_.name, " ", parts...);
    findings_.add(body_.name, " op ", place_, " (", plan::name_of(op().kind), " of unit ",
                  op().unit, " by ", plan::name_of(op().team), ") ", parts...);
  }

  void begin(const Unit& unit) {
    const Part cut = is_apart() ? Part::weight_shard : Part::shard;
    held(unit.weight).part = unit.weight_sharded ? cut : Part::whole;
    if (unit.frozen) return;
    const Part states = part_of_states(unit);
    for (const int32_t buffer : unit.updated()) {
      if (buffer >= 0 && buffer != unit.weight) held(buffer).part = states;
    }
    for (const int32_t buffer : unit.second) {
      if (buffer >= 0) held(buffer).part = states;
    }
    for (size_t i = 0; i < unit.ahead.size(); ++i) {
      if (unit.ahead[i] >= 0) held(unit.ahead[i]) = held(unit.updated()[i]);
    }
    if (unit.gradient >= 0) held(unit.gradient) = {states, Over::all};
  }

  /// Notes the gradients at rest of which an update takes a part.
  void begin_whole_gradients() {
    for (const PlanOp& op : plan_.bodies[kFinish].ops) {
      if (!is_update(op.kind)) continue;
      const Operand& gradient = op.operands[gradient_operand(plan_.request.optimizer)];
      if (gradient.sharded) held(gradient.buffer).part = Part::whole;
    }
  }

  /// Returns the part that a team cuts another into; nothing if it cuts no such part.
  std::optional<Part> cut(Part part, Team team) const {
    const bool is_whole = part == Part::whole;
    if (!is_apart()) {
      return is_whole && team == Team::all ? std::optional(Part::shard) : std::nullopt;
    }
    if (is_whole && team == Team::group) return Part::weight_shard;
    return part == Part::weight_shard && team == Team::across ? std::optional(Part::shard)
                                                              : std::nullopt;
  }
  /// Inverts cut().
  std::optional<Part> join(Part part, Team team) const {
    for (const Part whole : {Part::whole, Part::weight_shard}) {
      if (cut(whole, team) == part) return whole;
    }
    return std::nullopt;
  }

  /// Returns what an operand holds. Reports a shard of a team that does not cut its buffer.
  Held in(const Operand& operand) {
    Held content = held(operand.buffer);
    if (!operand.sharded) return content;
    const auto part = cut(content.part, operand.team);
    if (!part) {
      tell("cuts ", name(operand.buffer), ", ", name_of(content.part), ", for ",
           plan::name_of(operand.team));
    }
    content.part = part.value_or(content.part);
    content.is_joined = true;
    return content;
  }

  /// Reports an operand that is not up to date, or another part than wanted.
  Held require(const Operand& operand, std::optional<Part> part = {}) {
    const Held content = in(operand);
    if (!content.is_joined) tell("reads ", name(operand.buffer), ", whose parts are apart");
    if (part && content.part != *part) {
      tell("takes ", name(operand.buffer), ", ", name_of(content.part), ", for ", name_of(*part));
    }
    return content;
  }

  /// Stores what the op writes.
  void put(const Operand& operand, const Held& written) {
    Held& content = held(operand.buffer);
    const bool lasts = plan_.buffers[size_t(operand.buffer)].persistent;
    if (operand.sharded && !lasts) {
      content.part = join(written.part, operand.team).value_or(Part::whole);
    }
    if (lasts && in(operand).part != written.part) {
      tell("writes ", name_of(written.part), " to ", name(operand.buffer));
    }
    if (operand.sharded) {
      content.over = written.over;
      content.is_joined = content.is_awaited = false;
    } else {
      content = written;
    }
  }

  void follow(const PlanOp& op) {
    switch (op.kind) {
      case Kind::compute:
        return compute(op);
      case Kind::all_gather:
        return gather(op);
      case Kind::reduce_scatter:
        return reduce(op);
      case Kind::accumulate:
        return pass_on(op, op.add);
      case Kind::round_sum:
      case Kind::copy:
      case Kind::disk_read:
      case Kind::disk_write:
        if (op.unit >= 0) pass_on(op, false);
        return;
      case Kind::carry:
        for (const Operand& slot : op.operands) held(slot.buffer) = held(op.operands[0].buffer);
        return;
      case Kind::sum_of_squares:
        return require_sum(op.operands[kSource]);
      case Kind::all_reduce:
        if (op.team != Team::all) tell("sums words");
        return;
      default:
        if (is_update(op.kind)) update(op);
    }
  }

  void compute(const PlanOp& op) {
    const graph::Graph& graph = plan_.graphs[size_t(body_.graph)];
    const graph::Op& made = graph.ops[size_t(op.graph_op)];
    const size_t inputs = made.inputs.size();
    for (size_t i = 0; i < inputs + made.outputs.size(); ++i) {
      const graph::TensorId tensor = i < inputs ? made.inputs[i] : made.outputs[i - inputs];
      if (tensor == graph::kNone) continue;
      const graph::Role role = graph[tensor].role;
      if (i < inputs && role == graph::Role::parameter) require(op.operands[i], Part::whole);
      if (i < inputs || role != graph::Role::gradient) continue;
      const int32_t parameter = parameter_of_[size_t(graph[tensor].parameter)];
      const Unit& unit = plan_.units[size_t(graph.parameters[size_t(parameter)].unit)];
      held(op.operands[i].buffer) = {Part::whole, Over::rank};
      // An audit compares its gradients and keeps none.
      held(unit.gradient).is_awaited = &body_ != &plan_.bodies[kAudit];
    }
  }

  /// Reports pieces that leave out elements. True for the last piece.
  bool is_last_piece(const PlanOp& op) {
    int64_t& moved = moved_[size_t(op.operands[kTarget].buffer)];
    if (op.piece_begin != 0 && op.piece_begin != moved) tell("leaves elements out");
    moved = op.piece_begin + op.piece_numel;
    return moved == op.shard_numel;
  }

  void gather(const PlanOp& op) {
    const Held shard = require(op.operands[kSource]);
    const auto whole = join(shard.part, op.team);
    if (!whole) tell("gathers ", name_of(shard.part));
    Held& to = held(op.operands[kTarget].buffer);
    to = {whole.value_or(Part::whole), shard.over, is_last_piece(op)};
  }

  void reduce(const PlanOp& op) {
    const Held full = held(op.operands[kSource].buffer);
    const auto part = cut(full.part, op.team);
    const bool adds_groups = op.team == Team::across;
    if (!part || full.over != (adds_groups ? Over::group : Over::rank)) {
      tell("sums ", name_of(full.part), " that is summed over ", name_of(full.over));
    }
    const Held sum{part.value_or(Part::shard), op.team == Team::group ? Over::group : Over::all};
    is_last_piece(op);
    if (op.add) return require_alike(op.operands[kTarget], sum);
    // Later pieces of a sum in place read what is not yet summed.
    const bool in_place = op.operands[kTarget].buffer == op.operands[kSource].buffer;
    if (!in_place || moved_[size_t(op.operands[kTarget].buffer)] == op.shard_numel)
      put(op.operands[kTarget], sum);
  }

  void require_alike(const Operand& to, const Held& added) {
    const Held sum = in(to);
    held(to.buffer).is_awaited = false;
    if (sum.part == added.part && sum.over == added.over) return;
    tell("adds ", name_of(added.part), " summed over ", name_of(added.over), " to ",
         name_of(sum.part), " summed over ", name_of(sum.over));
  }

  void pass_on(const PlanOp& op, bool adds) {
    const Held from = require(op.operands[kSource]);
    if (adds) return require_alike(op.operands[kTarget], from);
    put(op.operands[kTarget], from);
  }

  void require_sum(const Operand& gradient) {
    const Held content = in(gradient);
    if (content.over != Over::all) {
      tell("takes ", name(gradient.buffer), " for a sum over all ranks, and it is one over ",
           name_of(content.over));
    }
  }

  void update(const PlanOp& op) {
    const Unit& unit = plan_.units[size_t(op.unit)];
    const Part part = part_of_states(unit);
    const size_t gradient = gradient_operand(plan_.request.optimizer);
    for (size_t i = kWeightOperand; i < gradient; ++i) {
      if (op.operands[i].buffer < 0) continue;
      require(op.operands[i], part);
      if (op.operands[i].mode != Mode::read) put(op.operands[i], {part, Over::nobody});
    }
    require(op.operands[gradient], part);
    require_sum(op.operands[gradient]);
  }

  const Plan& plan_;
  const Body& body_;
  Findings& findings_;
  const std::vector<int32_t> parameter_of_;  ///< [tensors]
  std::vector<Held> held_;                   ///< [buffers]
  std::vector<int64_t> moved_;  ///< [buffers] elements of each shard that pieces have moved
  size_t place_ = 0;
};

}  // namespace

void check_teams(const Plan& plan, BodyId body, Findings& findings) {
  const bool is_there = plan.request.ranks > 1 && !plan.bodies[body].ops.empty();
  if (is_there) TeamCheck(plan, plan.bodies[body], findings).run();
}

}  // namespace zero::plan
