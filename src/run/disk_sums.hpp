#pragma once
/// Checksums of states on disk, computed by the optimizer that updates them. In its cache a byte's
/// checksum is nearly free; a lane that computes it beside the step reads all of it from memory
/// once more, and takes time from one of the threads that a product waits for all of.

#include <span>

#include "src/run/bound_op.hpp"

namespace zero::run {

/// Finds the states that disk ops bring to the host's optimizer and take from it, and nobody else
/// touches on the way, and hands their checksums over to it. `ops`: those of all bodies of a plan.
void hand_sums_over(std::span<BoundOp* const> ops);

/// One update checks what came from disk before its update and notes what will go there.
class DiskSums final : public kernels::AroundPieces {
 public:
  DiskSums(const BoundOp& op, const LaneTools& tools) : op_(op), tools_(tools) {}

  int64_t numel() const {
    return op_.operand_bytes(plan::kWeightOperand) / int64_t(bytes_of(op_.plan->request.compute));
  }
  void before(int64_t begin, int64_t end) const override;
  void after(int64_t begin, int64_t end) const override;

 private:
  struct Blocks {
    int64_t offset;  ///< on disk
    std::span<const std::byte> memory;
  };
  Blocks blocks(const DiskImage& image, int64_t begin, int64_t end) const;

  const BoundOp& op_;
  const LaneTools& tools_;
};

}  // namespace zero::run
