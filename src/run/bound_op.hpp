#pragma once
/// A plan op with every address and constant resolved for one rank. A lane calls it in each step
/// and looks nothing up. Private to this room.

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

/// The resources that a lane lends to its ops.
struct LaneTools {
  Stream& stream;
  comm::Communicator* comm;         ///< null on a lane without collectives
  tiers::DiskTier* disk = nullptr;  ///< null on a lane without disk ops
  int64_t step = 0;                 ///< step of the body's inputs; tags the blocks written to disk
};

/// The bytes that a loop's next round adds to an address.
struct Stride {
  size_t operand;
  int64_t bytes;
};

/// The place on disk of an operand of the optimizer.
struct DiskImage {
  size_t operand;
  int64_t offset;  ///< bytes; offset on disk
};

struct BoundOp {
  /// Asynchronous on tools.stream. Allocates nothing.
  using Function = void (*)(const BoundOp& op, const LaneTools& tools);

  Function function = nullptr;
  const plan::Plan* plan = nullptr;
  const plan::PlanOp* op = nullptr;
  const graph::Graph* graph = nullptr;  ///< graph of the body, in its longest form
  /// The graph form that this micro-batch uses; null if the body has one form.
  const graph::Graph* const* chosen = nullptr;
  const Rules* rules = nullptr;
  std::vector<void*> operands;  ///< addresses of op->operands; null if absent

  int64_t sample_offset = 0;      ///< Kind::compute
  int64_t samples_a_round = 0;    ///< summand of sample_offset per round of a loop
  std::vector<Stride> strides;    ///< operands with another address in each round
  int64_t round = 0;              ///< round of a loop that these members describe
  std::vector<void*> slots;       ///< addresses by level of the counter (PlanOp::counts)
  int32_t micro_a_round = 0;      ///< summand of op->micro per round of a loop
  int carries = 0;                ///< levels of this round; carry: its operands
  int64_t unit_begin = 0;         ///< norms: begin of the slice in its unit
  int64_t disk_offset = -1;       ///< disk ops: place of the operand without address
  bool sums_by_user = false;      ///< disk ops: the optimizer checks and notes sums
  std::vector<DiskImage> images;  ///< update: states whose sums it checks and notes
  std::vector<kernels::OptimizerSegment> segments;      ///< update, relative to the slice
  std::vector<kernels::TensorSegment> tensor_segments;  ///< norms, relative to the slice

  template <class T>
  T* operand(size_t i) const {
    return static_cast<T*>(operands[i]);
  }
  /// Moves the op to a round. REQUIRES: the op does not run.
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

/// The arenas of one rank. Null for a tier that is a disk.
struct RankMemory {
  int rank = 0;
  std::array<std::byte*, plan::kTiers> base{};
};

/// Returns the address of an operand on that rank, null if it is absent. Throws Error(kInternal) if
/// the operand leaves its buffer or the buffer leaves the arena.
void* address(const plan::Plan& plan, const RankMemory& memory, const plan::Operand& operand);

/// Returns the buffer that now holds the bytes of `buffer`: its twin (plan::Buffer::twin) while the
/// two have changed places, else itself.
int32_t present_buffer(const plan::Plan& plan, const RankMemory& memory, int32_t buffer);

/// Returns the bytes of a buffer on that rank.
std::span<std::byte> buffer_bytes(const plan::Plan& plan, const RankMemory& memory, int32_t buffer);

/// Returns the buffer that the host fills before each run of a body. Throws Error(kInternal) if the
/// plan has no such body or its inputs do not have `bytes`.
int32_t inputs_buffer(const plan::Plan& plan, plan::BodyId body, int64_t bytes);

/// The forms of micro-batches, [graph][micro-batch], at first the longest. Empty for a graph with
/// one form.
class ChosenForms {
 public:
  ChosenForms() = default;
  explicit ChosenForms(const plan::Plan& plan);
  void choose(const plan::Plan& plan, int32_t graph, int64_t micro, size_t form);
  /// Returns the address of a micro-batch's form, null if there is one form. The address stays
  /// valid.
  const graph::Graph* const* of(int32_t graph, int32_t micro) const;

 private:
  std::array<std::vector<const graph::Graph*>, 2> graphs_;
};

struct BindTarget {
  const plan::Plan& plan;
  const Rules& rules;
  RankMemory memory;
  const ChosenForms* forms = nullptr;  ///< null: the longest form only
};

/// Resolves one op. Throws Error(kInternal) if operands are missing or have other sizes than the
/// op's kind needs. REQUIRES: `target.plan` and `target.rules` outlive the result.
BoundOp bind(const BindTarget& target, const plan::Body& body, const plan::PlanOp& op);

// Functions of plan::Kind. Operands are in the order of plan.hpp.

void run_compute(const BoundOp& op, const LaneTools& tools);
/// Returns the call of an op of Kind::compute in a form of its graph.
graph::OpCall call_of(const BoundOp& op, const graph::Graph& form);
/// Prepares a compute op for the calling thread in all forms (graph::prepare).
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
void run_digest(const BoundOp& op, const LaneTools& tools);

}  // namespace zero::run
