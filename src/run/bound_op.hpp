#pragma once
/// A plan op with every address and constant resolved for one rank: what a lane calls, step after
/// step, without looking anything up. Private to this room.

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "zero/comm/communicator.hpp"
#include "zero/device/stream.hpp"
#include "zero/graph/operation.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// What a lane lends to the ops it runs.
struct LaneTools {
  Stream& stream;
  comm::Communicator* comm;         ///< null on a lane without collectives
  tiers::DiskTier* disk = nullptr;  ///< null where a lane has nothing to do with one
  int64_t step = 0;                 ///< of the body's inputs: the tag of what is written to disk
};

/// What a loop's next round adds to an address.
struct Stride {
  size_t operand;
  int64_t bytes;
};

/// Where an operand of the optimizer comes from and goes to.
struct DiskImage {
  size_t operand;
  int64_t offset;  ///< on disk
};

struct BoundOp {
  /// Asynchronous on tools.stream; allocates nothing.
  using Function = void (*)(const BoundOp& op, const LaneTools& tools);

  Function function = nullptr;
  const plan::Plan* plan = nullptr;
  const plan::PlanOp* op = nullptr;
  const graph::Graph* graph = nullptr;  ///< of the body, in its longest form
  /// Points to the graph form that this micro-batch uses; null if the body has one form.
  const graph::Graph* const* chosen = nullptr;
  const Rules* rules = nullptr;
  std::vector<void*> operands;  ///< as op->operands; null where absent

  int64_t sample_offset = 0;                        ///< Kind::compute
  int64_t samples_a_round = 0;                      ///< of a loop: what is added to that
  std::vector<Stride> strides;                      ///< operands that lie elsewhere in each round
  int64_t round = 0;                                ///< that all this is of
  std::vector<void*> slots;                         ///< of a counter (PlanOp::counts), by level
  int32_t micro_a_round = 0;                        ///< of these, what is added to op->micro
  int carries = 0;                                  ///< in this round; carry: its operands
  int64_t unit_begin = 0;                           ///< norms: where the slice begins in its unit
  int64_t disk_offset = -1;                         ///< disk ops: of the operand without address
  bool sums_by_user = false;                        ///< disk ops: the optimizer checks and notes
  std::vector<DiskImage> images;                    ///< update: what it checks and notes
  std::vector<kernels::OptimizerSegment> segments;  ///< update, relative to the slice
  std::vector<kernels::TensorSegment> tensor_segments;  ///< of norms, relative to the slice

  template <class T>
  T* operand(size_t i) const {
    return static_cast<T*>(operands[i]);
  }
  /// Between runs of the op.
  void enter_round(int64_t next) {
    for (const Stride& stride : strides) {
      auto* const at = static_cast<std::byte*>(operands[stride.operand]);
      operands[stride.operand] = at + stride.bytes * (next - round);
    }
    sample_offset += samples_a_round * (next - round);
    if (chosen != nullptr) chosen += micro_a_round * (next - round);
    round = next;
    if (!slots.empty()) choose_slot();
  }
  void choose_slot() {
    carries = std::countr_one(unsigned(op->micro + round * micro_a_round) | 1u);
    if (op->kind != plan::Kind::carry) operands[plan::kTarget] = slots[size_t(carries) - 1];
  }
  int64_t operand_bytes(size_t i) const { return op->operands[i].bytes; }
};

/// One rank's arenas; none where a tier is a disk.
struct RankMemory {
  int rank = 0;
  std::array<std::byte*, plan::kTiers> base{};
};

/// Where an operand lies on that rank; null where it is absent. Throws Error(kInternal) where it
/// leaves its buffer or its buffer leaves the arena.
void* address(const plan::Plan& plan, const RankMemory& memory, const plan::Operand& operand);

/// The buffer whose bytes hold what this one names: its twin's (plan::Buffer::twin) while these two
/// have changed places, else its own.
int32_t present_buffer(const plan::Plan& plan, const RankMemory& memory, int32_t buffer);

/// The bytes of a buffer on that rank.
std::span<std::byte> buffer_bytes(const plan::Plan& plan, const RankMemory& memory, int32_t buffer);

/// The buffer that the host fills before each run of a body. Throws Error(kInternal) where the plan
/// has no such body or its inputs are not of `bytes`.
int32_t inputs_buffer(const plan::Plan& plan, plan::BodyId body, int64_t bytes);

/// The forms that micro-batches take, [graph][micro-batch]; the longest, until others are chosen.
/// None of a graph that has no other.
class ChosenForms {
 public:
  ChosenForms() = default;
  explicit ChosenForms(const plan::Plan& plan);
  void choose(const plan::Plan& plan, int32_t graph, int64_t micro, size_t form);
  /// Where that of a micro-batch stands; null where there is no choice. It stays there.
  const graph::Graph* const* of(int32_t graph, int32_t micro) const;

 private:
  std::array<std::vector<const graph::Graph*>, 2> graphs_;
};

struct BindTarget {
  const plan::Plan& plan;
  const Rules& rules;
  RankMemory memory;
  const ChosenForms* forms = nullptr;  ///< null: the longest alone
};

/// Resolves one op. `target.plan` and `target.rules` outlive the result. Throws Error(kInternal)
/// where operands are missing or have other sizes than the op's kind needs.
BoundOp bind(const BindTarget& target, const plan::Body& body, const plan::PlanOp& op);

// One function for each plan::Kind. Operand order is that of plan.hpp.

void run_compute(const BoundOp& op, const LaneTools& tools);
/// Returns the call of an op of Kind::compute in a form of its graph.
graph::OpCall call_of(const BoundOp& op, const graph::Graph& form);
/// What run_compute() makes when its thread first runs the op: prepare().
void prepare_compute(const BoundOp& op, Stream& stream);
void run_decide(const BoundOp& op, const LaneTools& tools);
void run_update(const BoundOp& op, const LaneTools& tools);
void run_add_norms(const BoundOp& op, const LaneTools& tools);
void run_apply_norms(const BoundOp& op, const LaneTools& tools);
void run_speculate(const BoundOp& op, const LaneTools& tools);
void run_settle(const BoundOp& op, const LaneTools& tools);
void run_sum_of_squares(const BoundOp& op, const LaneTools& tools);
void run_accumulate(const BoundOp& op, const LaneTools& tools);
void run_carry(const BoundOp& op, const LaneTools& tools);
void run_round_sum(const BoundOp& op, const LaneTools& tools);
void run_clear(const BoundOp& op, const LaneTools& tools);
void run_all_gather(const BoundOp& op, const LaneTools& tools);
void run_reduce_scatter(const BoundOp& op, const LaneTools& tools);
void run_all_reduce(const BoundOp& op, const LaneTools& tools);
void run_copy(const BoundOp& op, const LaneTools& tools);
void run_disk_read(const BoundOp& op, const LaneTools& tools);
void run_disk_write(const BoundOp& op, const LaneTools& tools);

}  // namespace zero::run
