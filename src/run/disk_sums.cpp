#include "src/run/disk_sums.hpp"

#include <algorithm>
#include <map>

#include "zero/base/align.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::run {
namespace {

using plan::Kind;

// The factor is the bytes of 16-bit elements, the shortest on disk.
static_assert(kernels::kPieceNumel * 2 % tiers::kDiskBlockBytes == 0, "a piece is whole blocks");

/// The ops that touch one buffer.
struct Uses {
  std::vector<BoundOp*> moves, updates;
  size_t writes = 0;
  size_t operand = 0;  ///< index in the updates
  bool others = false;
};

void add_use(Uses& uses, BoundOp& op, size_t operand) {
  const size_t end = plan::gradient_operand(op.plan->request.optimizer);
  const bool is_state = operand >= plan::kWeightOperand && operand < end;
  if (plan::is_disk_transfer(op.op->kind)) {
    uses.moves.push_back(&op);
    if (op.op->kind == Kind::disk_write) ++uses.writes;
  } else if (op.op->kind == Kind::update && op.op->lane == plan::Lane::host_optimizer && is_state) {
    uses.others |= !uses.updates.empty() && uses.operand != operand;
    uses.updates.push_back(&op);
    uses.operand = operand;
  } else {
    uses.others = true;
  }
}

std::map<int32_t, Uses> uses_of_buffers(std::span<BoundOp* const> ops) {
  std::map<int32_t, Uses> uses;
  for (BoundOp* op : ops) {
    for (size_t i = 0; i < op->operands.size(); ++i) {
      if (op->operands[i] != nullptr) add_use(uses[op->op->operands[i].buffer], *op, i);
    }
  }
  return uses;
}

/// True if all ops use the same bytes and one place on disk.
bool agree(const Uses& uses) {
  const int64_t offset = uses.moves.front()->disk_offset;
  const plan::Operand& state = uses.updates.front()->op->operands[uses.operand];
  const auto is_same = [&](const plan::Operand& other) {
    return other.buffer == state.buffer && other.offset == state.offset &&
           other.bytes == state.bytes && !other.sharded;
  };
  return std::all_of(uses.moves.begin(), uses.moves.end(),
                     [&](const BoundOp* move) {
                       const size_t in_memory = move->op->kind == Kind::disk_read ? 1 : 0;
                       return move->disk_offset == offset && is_same(move->op->operands[in_memory]);
                     }) &&
         std::all_of(uses.updates.begin(), uses.updates.end(), [&](const BoundOp* update) {
           return is_same(update->op->operands[uses.operand]);
         });
}

/// True if each update finds the bytes that were read, and its write follows.
bool can_hand_over(const Uses& uses) {
  const bool comes_and_goes = uses.writes == uses.updates.size() && uses.moves.size() > uses.writes;
  return !uses.others && !uses.updates.empty() && comes_and_goes && agree(uses);
}

}  // namespace

void hand_sums_over(std::span<BoundOp* const> ops) {
  for (const auto& [buffer, uses] : uses_of_buffers(ops)) {
    if (!can_hand_over(uses)) continue;
    for (BoundOp* move : uses.moves) move->sums_by_user = true;
    for (BoundOp* update : uses.updates) {
      update->images.push_back({.operand = uses.operand, .offset = uses.moves[0]->disk_offset});
    }
  }
}

void DiskSums::before(int64_t begin, int64_t end) const {
  for (const DiskImage& image : op_.images) {
    const Blocks part = blocks(image, begin, end);
    tools_.disk->check(part.offset, part.memory);
  }
}

void DiskSums::after(int64_t begin, int64_t end) const {
  for (const DiskImage& image : op_.images) {
    const Blocks part = blocks(image, begin, end);
    tools_.disk->note(part.offset, part.memory, tools_.step);
  }
}

DiskSums::Blocks DiskSums::blocks(const DiskImage& image, int64_t begin, int64_t end) const {
  const int64_t bytes = op_.operand_bytes(image.operand), each = bytes / numel();
  // The last page of a buffer moves whole.
  const int64_t last = end == numel() ? round_up(bytes, plan::kPageBytes) : end * each;
  return {
      image.offset + begin * each,
      {op_.operand<const std::byte>(image.operand) + begin * each, size_t(last - begin * each)}};
}

}  // namespace zero::run
