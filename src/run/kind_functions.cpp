#include <utility>

#include "src/run/bound_op.hpp"
#include "src/run/disk_sums.hpp"
#include "zero/base/align.hpp"
#include "zero/base/dtype.hpp"
#include "zero/device/copy.hpp"
#include "zero/graph/operation.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/kernels/gradients.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::run {
namespace {

using kernels::StepInputs;
using kernels::StepState;
using kernels::StepSums;
using kernels::TensorNorms;

/// Returns weight, low, states and gradient of an optimizer op.
template <class T, class G>
kernels::OptimizerArrays<T, G> optimizer_arrays(const BoundOp& op) {
  const OptimizerForm& optimizer = op.plan->request.optimizer;
  kernels::OptimizerArrays<T, G> arrays{
      .weight = op.operand<T>(plan::kWeightOperand),
      .low = op.operand<typename kernels::MasterLow<T>::type>(plan::kLowOperand),
      .states = {},
      .grad = op.operand<const G>(plan::gradient_operand(optimizer))};
  for (size_t i = 0; i < optimizer.states.size(); ++i) {
    arrays.states[i] = op.operand<float>(plan::kFirstState + i);
  }
  return arrays;
}

/// Returns the second copy's arrays, which have no gradient.
template <class T, class G>
kernels::OptimizerArrays<T, G> second_arrays(const BoundOp& op) {
  const size_t second = plan::second_operand(op.plan->request.optimizer);
  kernels::OptimizerArrays<T, G> arrays{
      .weight = op.operand<T>(second),
      .low = op.operand<typename kernels::MasterLow<T>::type>(second + 1),
      .states = {},
      .grad = nullptr};
  for (size_t i = 0; i < op.plan->request.optimizer.states.size(); ++i) {
    arrays.states[i] = op.operand<float>(second + 2 + i);
  }
  return arrays;
}

/// The copies of an op by content: the states as they are, and room for a guess. The weight comes
/// from its home, and new weights always go to the second copy.
template <class T, class G>
struct Copies {
  explicit Copies(const BoundOp& op)
      : states(optimizer_arrays<T, G>(op)), guess(second_arrays<T, G>(op)) {
    if (turns_of(op).second == 0) return;
    std::swap(states.low, guess.low);
    std::swap(states.states, guess.states);
  }
  kernels::OptimizerArrays<T, G> states, guess;

  static kernels::Speculation& turns_of(const BoundOp& op) {
    return *op.operand<kernels::Speculation>(plan::turns_operand(op.plan->request.optimizer));
  }
};

/// If every step is clipped, one guess in eight is made twice, which costs 1 % of a step.
constexpr int64_t kAttemptsOfRest = 7;

kernels::OptimizerRule rule_of(const BoundOp& op) {
  kernels::OptimizerRule rule = op.rules->optimizer;
  rule.round_gradient = op.op->round_gradient;
  return rule;
}

/// Returns the operand after the gradient.
kernels::TensorNorms* norms_of(const BoundOp& op) {
  return op.operand<TensorNorms>(plan::gradient_operand(op.plan->request.optimizer) + 1);
}

comm::Piece piece(const plan::PlanOp& op) {
  return {.shard_numel = op.shard_numel, .begin = op.piece_begin, .numel = op.piece_numel};
}

/// Returns an operand in whole pages, which a disk moves. The rest of a buffer's last page belongs
/// to nobody.
std::span<std::byte> pages(const BoundOp& op, size_t operand) {
  const int64_t bytes = round_up(op.operand_bytes(operand), plan::kPageBytes);
  return {op.operand<std::byte>(operand), size_t(bytes)};
}

tiers::Sums sums_of(const BoundOp& op) {
  return op.sums_by_user ? tiers::Sums::by_user : tiers::Sums::here;
}

}  // namespace

graph::OpCall call_of(const BoundOp& op, const graph::Graph& form) {
  const graph::Op& graph_op = form.ops[size_t(op.op->graph_op)];
  const size_t tensors = graph_op.inputs.size() + graph_op.outputs.size();
  return {.graph = &form,
          .op = &graph_op,
          .operands = std::span<void* const>(op.operands).first(tensors),
          .scratch = {op.operands.size() > tensors ? op.operands[tensors] : nullptr},
          .sample_offset = op.sample_offset,
          .sums = op.op->sums,
          .add = op.op->add};
}

void run_compute(const BoundOp& op, const LaneTools& tools) {
  graph::call(tools.stream, call_of(op, op.chosen != nullptr ? **op.chosen : *op.graph));
}

void prepare_compute(const BoundOp& op, Stream& stream) {
  const auto graph = int32_t(op.graph - op.plan->graphs.data());
  for (size_t form = 0; form < op.plan->forms(graph); ++form) {
    graph::prepare(stream, call_of(op, op.plan->form(graph, form)));
  }
}

void run_decide(const BoundOp& op, const LaneTools& tools) {
  kernels::decide(tools.stream, op.rules->decide, op.operand<const StepInputs>(plan::kStepInputs),
                  op.operand<StepSums>(plan::kStepSums), op.operand<StepState>(plan::kStepState));
}

void run_update(const BoundOp& op, const LaneTools& tools) {
  const kernels::OptimizerRule rule = rule_of(op);
  with_gradient_type(op.plan->request.compute, op.op->in, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    const auto* state = op.operand<const StepState>(plan::kDecision);
    const auto arrays = optimizer_arrays<T, G>(op);
    if (op.images.empty()) {
      kernels::update<T, G>(tools.stream, rule, op.segments, state, arrays);
    } else {
      const DiskSums sums(op, tools);
      kernels::update_in_pieces<T, G>(tools.stream, rule, op.segments, state, arrays, sums.numel(),
                                      sums);
    }
  });
}

void run_speculate(const BoundOp& op, const LaneTools& tools) {
  with_gradient_type(op.plan->request.compute, op.op->in, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    const Copies<T, G> copies(op);
    kernels::Speculation& turns = copies.turns_of(op);
    if (turns.rest > 0) {
      --turns.rest;
      return;
    }
    turns.guess =
        kernels::guess_decision(op.rules->decide, *op.operand<const StepState>(plan::kDecision));
    kernels::update_into<T, G>(tools.stream, rule_of(op), op.segments, &turns.guess, copies.states,
                               copies.guess);
    turns.made = 1;
  });
}

void run_settle(const BoundOp& op, const LaneTools& tools) {
  with_gradient_type(op.plan->request.compute, op.op->in, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    const Copies<T, G> copies(op);
    kernels::Speculation& turns = copies.turns_of(op);
    const auto* const decided = op.operand<const StepState>(plan::kDecision);
    const bool made = std::exchange(turns.made, 0) != 0;
    if (made && kernels::is_same_update(turns.guess, *decided)) {
      turns.second = 1 - turns.second;
      return;
    }
    if (made) turns.rest = kAttemptsOfRest;
    const auto* const weight = op.operand<const std::byte>(plan::kWeightOperand);
    const size_t bytes = size_t(op.operand_bytes(plan::kWeightOperand));
    kernels::copy_on_host(tools.stream, {weight, bytes},
                          reinterpret_cast<std::byte*>(copies.guess.weight));
    kernels::OptimizerArrays<T, G> in_place = copies.states;
    in_place.weight = copies.guess.weight;
    kernels::update<T, G>(tools.stream, rule_of(op), op.segments, decided, in_place);
  });
}

void run_add_norms(const BoundOp& op, const LaneTools& tools) {
  with_gradient_type(op.plan->request.compute, op.op->in, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    kernels::lamb_norms<T, G>(tools.stream, rule_of(op), op.tensor_segments,
                              op.operand<const StepState>(plan::kDecision),
                              optimizer_arrays<T, G>(op), op.unit_begin, norms_of(op));
  });
}

void run_apply_norms(const BoundOp& op, const LaneTools& tools) {
  with_gradient_type(op.plan->request.compute, op.op->in, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    kernels::lamb_apply<T, G>(tools.stream, rule_of(op), op.tensor_segments,
                              op.operand<const StepState>(plan::kDecision),
                              optimizer_arrays<T, G>(op), norms_of(op));
  });
}

void run_sum_of_squares(const BoundOp& op, const LaneTools& tools) {
  const int64_t numel = op.operand_bytes(plan::kSource) / int64_t(bytes_of(op.op->in));
  with_gradient_type(op.plan->request.compute, op.op->in, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    kernels::sum_of_squares<T, G>(tools.stream, numel, op.operand<const G>(plan::kSource),
                                  op.op->round_gradient, op.operand<StepSums>(plan::kStepSums));
  });
}

void run_accumulate(const BoundOp& op, const LaneTools& tools) {
  const int64_t numel = op.operand_bytes(plan::kTarget) / int64_t(sizeof(float));
  with_type(op.op->in, [&](auto t) {
    using T = typename decltype(t)::type;
    kernels::accumulate<T>(tools.stream, numel, op.operand<const T>(plan::kSource),
                           op.operand<float>(plan::kTarget), !op.op->add);
  });
}

void run_carry(const BoundOp& op, const LaneTools& tools) {
  const int64_t numel = op.operand_bytes(plan::kSource) / int64_t(sizeof(float));
  const size_t last = size_t(op.carries) - 1;
  for (size_t slot = 0; slot < last; ++slot) {
    kernels::accumulate<float>(tools.stream, numel, op.operand<const float>(slot),
                               op.operand<float>(last), false);
  }
}

void run_round_sum(const BoundOp& op, const LaneTools& tools) {
  const int64_t numel = op.operand_bytes(plan::kSource) / int64_t(sizeof(float));
  with_type(op.op->out, [&](auto t) {
    using T = typename decltype(t)::type;
    kernels::round_sum<T>(tools.stream, numel, op.operand<const float>(plan::kSource),
                          op.operand<T>(plan::kTarget));
  });
}

void run_clear(const BoundOp& op, const LaneTools& tools) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    kernels::clear_bytes(tools.stream, op.operand_bytes(i), op.operands[i]);
  }
}

void run_all_gather(const BoundOp& op, const LaneTools& tools) {
  tools.comm->all_gather(tools.stream, op.op->in, piece(*op.op), op.operands[plan::kSource],
                         op.operands[plan::kTarget]);
}

void run_reduce_scatter(const BoundOp& op, const LaneTools& tools) {
  using Store = comm::Communicator::Store;
  const comm::Communicator::Reduction reduction{
      .in = op.op->in,
      .out = op.op->out,
      .store = op.op->add ? Store::add : Store::write,
      .group_sums = static_cast<float*>(op.operands[plan::kGroupSums])};
  tools.comm->reduce_scatter(tools.stream, reduction, piece(*op.op), op.operands[plan::kSource],
                             op.operands[plan::kTarget]);
}

void run_all_reduce(const BoundOp& op, const LaneTools& tools) {
  const size_t words = size_t(op.operand_bytes(plan::kSource)) / sizeof(int64_t);
  tools.comm->all_reduce(tools.stream, {op.operand<int64_t>(plan::kSource), words});
}

void run_copy(const BoundOp& op, const LaneTools& tools) {
  copy_bytes(tools.stream,
             {op.operand<const std::byte>(plan::kSource), size_t(op.operand_bytes(plan::kSource))},
             op.operand<std::byte>(plan::kTarget));
}

// The caller of a disk function has waited for queued work, because a disk knows no streams.

void run_disk_read(const BoundOp& op, const LaneTools& tools) {
  tools.disk->read(op.disk_offset, pages(op, plan::kTarget), sums_of(op));
}

void run_disk_write(const BoundOp& op, const LaneTools& tools) {
  tools.disk->write(op.disk_offset, pages(op, plan::kSource), tools.step, sums_of(op));
}

void run_digest(const BoundOp& op, const LaneTools& tools) {
  const plan::Operand& digested = op.op->operands[plan::kDigested];
  const auto add = [&]<class Word>(Word) {
    constexpr int64_t kBytes = sizeof(Word);
    kernels::digest(tools.stream, op.operand<const StepInputs>(plan::kStepInputs),
                    digested.bytes / kBytes, op.operand<const Word>(plan::kDigested),
                    digested.offset / kBytes, op.operand<int64_t>(plan::kDigest));
  };
  const bool has_whole_words = (digested.offset | digested.bytes) % 4 == 0;
  has_whole_words ? add(uint32_t()) : add(uint16_t());
}

}  // namespace zero::run
