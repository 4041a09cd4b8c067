#include "tests/support/tiny_training.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

#include "zero/kernels/initialise.hpp"
#include "zero/model/family.hpp"

namespace zero::testing {
namespace {

/// Calls visit(place, parameter's element, unit's element) for every element of every
/// parameter.
template <class Visit>
void for_each_element(const plan::Unit& unit, const Visit& visit) {
  for (const plan::UnitParameter& place : unit.parameters) {
    for (int64_t i = 0; i < place.numel; ++i) visit(place, i, place.begin + i);
  }
}

/// Returns the place of element `at` of a unit in an array of one of equal shards; -1: not there.
int64_t place_in(bool sharded, int64_t shard, int64_t numel, int64_t at) {
  if (!sharded) return at;
  return at / numel == shard ? at % numel : -1;
}

float initial_value(const graph::Parameter& parameter, int32_t index, int64_t element) {
  if (parameter.init == graph::Init::zeros) return 0.0f;
  if (parameter.init == graph::Init::ones) return 1.0f;
  return parameter.deviation_of(element) * kernels::initial_normal(1, uint32_t(index), element);
}

void split(float master, float& weight, float&) { weight = master; }
void split(float master, f16& weight, float& low) { weight = f16(master), low = master; }
void split(float master, bf16& weight, int16_t& low) {
  weight = kernels::split_master(master, low);
}

/// All elements of a buffer, empty where there is none.
template <class T>
std::vector<T> load(Machine& machine, const plan::Plan& plan, int rank, int32_t buffer) {
  if (buffer < 0) return {};
  std::vector<T> values(size_t(plan.buffers[size_t(buffer)].bytes) / sizeof(T));
  machine.read(rank, buffer, std::as_writable_bytes(std::span(values)));
  return values;
}

template <class T>
void fill_unit(Machine& machine, const plan::Plan& plan, const plan::Unit& unit, int rank) {
  using Low = typename kernels::MasterLow<T>::type;
  std::vector<T> weights = load<T>(machine, plan, rank, unit.weight);
  std::vector<Low> lows = load<Low>(machine, plan, rank, unit.low);
  for_each_element(unit, [&](const plan::UnitParameter& place, int64_t i, int64_t at) {
    const graph::Parameter& parameter = plan.graphs[0].parameters[size_t(place.parameter)];
    T weight;
    Low low{};
    split(initial_value(parameter, place.parameter, i), weight, low);
    const plan::Groups groups = unit.groups();
    const int64_t weight_at = place_in(unit.weight_sharded, groups.place(plan::Team::group, rank),
                                       unit.weight_shard_numel(), at);
    const int64_t low_at =
        place_in(unit.optimizer_sharded, groups.shard_of(rank), unit.shard_numel, at);
    if (weight_at >= 0) weights[size_t(weight_at)] = weight;
    if (!lows.empty() && low_at >= 0) lows[size_t(low_at)] = low;
  });
  machine.write(rank, unit.weight, std::as_bytes(std::span(weights)));
  if (!lows.empty()) machine.write(rank, unit.low, std::as_bytes(std::span(lows)));
}

int32_t target(int64_t sample, int64_t t) {
  return (sample + t) % 5 == 0 ? -1 : int32_t((7 * sample + 3 * t + 1) % 61);
}

/// Returns the begin of the text at place t of a sample, which holds two texts or one.
int32_t text_begin(int64_t sample, int64_t t) {
  const int64_t second = 1 + sample % 8;
  return int32_t(t < second ? 0 : second);
}

/// Returns the number of an input at place t of a sample: ids below 61, or two classes. One in five
/// is no target.
int32_t number_of(const std::string& input, int64_t sample, int64_t t) {
  if (input == "targets" || input == "next") return target(sample, t);
  if (input == "source_count" || input == "token_count") return int32_t(1 + sample % 7);
  if (input == model::kFirstInput) return text_begin(sample, t);
  if (input == "labels") return sample % 5 == 0 ? -1 : int32_t(sample % 2);
  return int32_t((7 * sample + 3 * t) % 61);
}

int64_t samples_of_step(const plan::Plan& plan) {
  return plan.graphs[0].samples * plan.request.ranks * plan.request.micro_batches;
}

int64_t counted_tokens(const plan::Plan& plan, int64_t step) {
  int64_t tokens = 0;
  const int64_t first = (step - 1) * samples_of_step(plan);
  for (int64_t sample = first; sample < first + samples_of_step(plan); ++sample) {
    for (int64_t t = 0; t < plan.graphs[0].length; ++t) tokens += target(sample, t) >= 0;
  }
  return tokens;
}

/// An array of a unit: the ranks that hold its parts, in order, and how long its elements are.
struct UnitArray {
  int32_t buffer;
  std::vector<int> holders;
  int64_t element_bytes;
};

/// The holders of a weight's shards in the first group, and of the states' shards.
std::vector<int> holders_of_weight(const plan::Unit& unit) {
  std::vector<int> holders(unit.weight_sharded ? size_t(unit.groups().group_ranks) : 1);
  std::iota(holders.begin(), holders.end(), 0);
  return holders;
}
std::vector<int> holders_of_states(const plan::Unit& unit) {
  std::vector<int> holders;
  for (int shard = 0; shard < (unit.optimizer_sharded ? unit.groups().ranks : 1); ++shard)
    holders.push_back(unit.groups().holder_of(shard));
  return holders;
}

std::vector<UnitArray> arrays_of(const plan::Plan& plan, const plan::Unit& unit) {
  const Dtype compute = plan.request.compute;
  const std::vector<int> holders = holders_of_states(unit);
  std::vector<UnitArray> arrays = {
      {unit.weight, holders_of_weight(unit), int64_t(bytes_of(compute))}};
  for (const int32_t state : unit.states) arrays.push_back({state, holders, 4});
  if (unit.low >= 0) arrays.push_back({unit.low, holders, compute == Dtype::bf16 ? 2 : 4});
  return arrays;
}

/// One array of a whole unit, each element from the rank that owns it.
class WholeArray {
 public:
  WholeArray(Machine& machine, const plan::Plan& plan, const UnitArray& array)
      : element_bytes_(size_t(array.element_bytes)) {
    for (const int rank : array.holders) {
      const std::vector<std::byte> part = load<std::byte>(machine, plan, rank, array.buffer);
      bytes_.insert(bytes_.end(), part.begin(), part.end());
    }
  }
  std::span<const std::byte> element(int64_t at) const {
    return std::span(bytes_).subspan(size_t(at) * element_bytes_, element_bytes_);
  }

 private:
  size_t element_bytes_;
  std::vector<std::byte> bytes_;
};

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

void append(std::span<const std::byte> bytes, std::vector<std::byte>& to) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> state_bytes(Machine& machine, const plan::Plan& plan) {
  std::vector<std::byte> state;
  for (const plan::Unit& unit : plan.units) {
    for (const UnitArray& array : arrays_of(plan, unit)) {
      const WholeArray whole(machine, plan, array);
      for_each_element(unit, [&](const plan::UnitParameter&, int64_t, int64_t at) {
        append(whole.element(at), state);
      });
    }
  }
  return state;
}

/// As many rounds as it takes the ranks to see as many micro-batches as any other number of ranks.
double evaluate(Machine& machine, const plan::Plan& plan, const kernels::StepInputs& inputs) {
  constexpr int kMicroBatches = 8;
  ExactSum total;
  total.clear();
  for (int first = 0; first < kMicroBatches; first += plan.request.ranks) {
    fill_batch(machine, plan, first * plan.graphs[1].samples);
    machine.run(plan::kEvaluate, inputs);
    total.add(machine.view<kernels::StepSums>(0, plan.output(1, graph::kLossOutput))->loss);
  }
  return total.value();
}

/// Runs the audit of a step, which must find nothing.
void require_audit(Machine& machine, const plan::Plan& plan, const kernels::StepInputs& inputs) {
  machine.run(plan::kAudit, inputs);
  for (int rank = 0; rank < plan.request.ranks; ++rank) {
    const AuditSums sums = audit_sums(machine, plan, rank);
    ZERO_REQUIRE(sums.own == sums.other, "step ", inputs.step,
                 ": an audit finds other gradients of rank ", rank);
  }
}

}  // namespace

ThreadRanks::ThreadRanks(const plan::Plan& plan, const run::Rules& rules) {
  const plan::Groups groups = plan.request.groups();
  for (const plan::Team team : plan::kAllTeams) {
    for (int part = 0; part < groups.ranks / groups.ranks_of(team); ++part)
      teams_[size_t(team)].push_back(std::make_unique<comm::ThreadGroup>(groups.ranks_of(team)));
  }
  for (int rank = 0; rank < plan.request.ranks; ++rank) {
    run::LaneComms lanes{};
    for (const run::LaneTeam& at : run::lane_teams(groups)) {
      comm::ThreadGroup& team = *teams_[size_t(at.team)][size_t(groups.part(at.team, rank))];
      comms_.push_back(team.join(groups.place(at.team, rank), int(at.lane)));
      lanes[size_t(at.lane)].of[size_t(at.team)] = comms_.back().get();
    }
    const bool has_disk = plan.arena_bytes[size_t(plan::Tier::nvme)] > 0;
    disks_.push_back(has_disk ? std::make_unique<RankDisk>(plan) : nullptr);
    const run::LaneDisks disks = has_disk ? disks_.back()->lanes() : run::LaneDisks{};
    executors_.push_back(std::make_unique<run::Executor>(plan, rules, lanes, disks));
    executors_.back()->set_error_hook([this] {
      for (const auto& kind : teams_) {
        for (const auto& team : kind) team->abort();
      }
    });
  }
}

void ThreadRanks::run(plan::BodyId body, const kernels::StepInputs& inputs) {
  std::vector<std::exception_ptr> errors(executors_.size());
  std::vector<std::thread> ranks;
  for (size_t r = 0; r < executors_.size(); ++r) {
    ranks.emplace_back([this, r, body, &inputs, &errors] {
      try {
        executors_[r]->run(body, inputs);
      } catch (...) {
        errors[r] = std::current_exception();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

run::Rules tiny_rules(Dtype compute) {
  static constexpr float kRates[] = {1e-3f, 2e-3f, 3e-3f};
  run::Rules rules;
  rules.decide.clip = 1.0;
  rules.decide.learning_rates = kRates;
  rules.decide.learning_rate_count = std::size(kRates);
  if (compute == Dtype::f16) {
    rules.decide.scaling.enabled = true;
    rules.decide.scaling.initial_scale = 0x1p24f;
    rules.decide.scaling.hysteresis = 1;
  }
  return rules;
}

kernels::StepInputs tiny_inputs(const plan::Plan& plan, int64_t step) {
  const bool pending = step > 1;
  return {.seed = 42,
          .step = step,
          .first_sample = (step - 1) * samples_of_step(plan),
          .counted_tokens = counted_tokens(plan, step),
          .pending = pending,
          .rejected = 0,
          .audited = plan.request.audits,
          .pending_step = step - 1,
          .pending_tokens = pending ? counted_tokens(plan, step - 1) : 0};
}

void fill_states(Machine& machine, const plan::Plan& plan, const run::Rules& rules) {
  for (int rank = 0; rank < plan.request.ranks; ++rank) {
    *machine.view<kernels::StepState>(rank, plan.step_state) =
        kernels::initial_step_state(rules.decide);
    for (const plan::Unit& unit : plan.units) {
      const Dtype compute = plan.request.compute;
      if (compute == Dtype::f32) fill_unit<float>(machine, plan, unit, rank);
      if (compute == Dtype::bf16) fill_unit<bf16>(machine, plan, unit, rank);
      if (compute == Dtype::f16) fill_unit<f16>(machine, plan, unit, rank);
    }
  }
}

int32_t* inputs_of(Machine& machine, int rank, const plan::InputBuffer& input, int micro) {
  return machine.view<int32_t>(rank, input.buffer) +
         micro * input.stride / int64_t(sizeof(int32_t));
}

// Behind its own micro-batches a rank has the first one of the next.
void fill_batch(Machine& machine, const plan::Plan& plan, int64_t first_sample) {
  for (const plan::InputBuffer& input : plan.inputs) {
    if (input.filled_by != graph::FilledBy::data) continue;
    const int64_t samples = plan.graphs[size_t(input.graph)].samples;
    const int ranks = plan.request.ranks, own = plan.request.micro_batches;
    const int micro_batches = input.graph == 0 ? own + plan.request.audits : 1;
    for (int rank = 0; rank < ranks; ++rank) {
      for (int micro = 0; micro < micro_batches; ++micro) {
        const bool audits = input.graph == 0 && micro == own;
        const int64_t batch = audits             ? plan.request.number_of(0, (rank + 1) % ranks)
                              : input.graph == 0 ? plan.request.number_of(micro, rank)
                                                 : rank;
        fill_samples(
            input.name, samples, first_sample + batch * samples,
            {inputs_of(machine, rank, input, micro), size_t(input.bytes) / sizeof(int32_t)});
      }
    }
  }
}

void fill_samples(const std::string& input, int64_t samples, int64_t first,
                  std::span<int32_t> out) {
  const int64_t each = int64_t(out.size()) / samples;
  for (int64_t i = 0; i < samples * each; ++i) {
    out[size_t(i)] = number_of(input, first + i / each, i % each);
  }
}

AuditSums audit_sums(Machine& machine, const plan::Plan& plan, int rank) {
  const size_t units = plan.units.size(), auditor = size_t(rank + plan.request.ranks - 1);
  const int64_t* const own = machine.view<int64_t>(rank, plan.audit_sums);
  const int64_t* const other =
      machine.view<int64_t>(int(auditor) % plan.request.ranks, plan.audit_sums) + units;
  return {.own = {own, own + units}, .other = {other, other + units}};
}

Outcome train(Machine& machine, const plan::Plan& plan, int steps) {
  Outcome outcome;
  fill_states(machine, plan, tiny_rules(plan.request.compute));
  for (int step = 1; step <= steps; ++step) {
    const kernels::StepInputs inputs = tiny_inputs(plan, step);
    fill_batch(machine, plan, inputs.first_sample);
    machine.run(plan::kStep, inputs);
    if (plan.request.audits) require_audit(machine, plan, inputs);
    append(machine.bytes(0, plan.step_sums()), outcome.sums);
    append(machine.bytes(0, plan.step_state), outcome.decided);
  }
  const kernels::StepInputs inputs = tiny_inputs(plan, steps + 1);
  machine.run(plan::kFinish, inputs);
  outcome.state = state_bytes(machine, plan);
  if (!plan.graphs[1].ops.empty()) outcome.evaluation = evaluate(machine, plan, inputs);
  return outcome;
}

bool padding_is_zero(Machine& machine, const plan::Plan& plan) {
  bool zero = true;
  for (const plan::Unit& unit : plan.units) {
    std::vector<bool> used(size_t(unit.numel), false);
    for_each_element(
        unit, [&](const plan::UnitParameter&, int64_t, int64_t at) { used[size_t(at)] = true; });
    for (const UnitArray& array : arrays_of(plan, unit)) {
      const WholeArray whole(machine, plan, array);
      for (int64_t at = 0; at < unit.numel; ++at) {
        zero = zero && (used[size_t(at)] || is_zero(whole.element(at)));
      }
    }
  }
  return zero;
}

}  // namespace zero::testing
