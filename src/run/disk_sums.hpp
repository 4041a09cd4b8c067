#pragma once
/// Checksums of states on disk, computed by the optimizer that updates them. They are nearly free
/// for bytes in its cache. A lane beside the step would read all bytes from memory again,
/// and delay a thread for which a product waits.

#include <span>

#include "src/run/bound_op.hpp"

namespace zero::run {

/// Hands checksums of states over to the host's optimizer if disk ops bring and take the states and
/// no other op touches them. `ops` are those of all bodies of a plan.
void hand_sums_over(std::span<BoundOp* const> ops);

/// The checksums of one update. It checks states from disk before the update and notes states for
/// disk after it.
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
    int64_t offset;  ///< bytes; offset on disk
    std::span<const std::byte> memory;
  };
  Blocks blocks(const DiskImage& image, int64_t begin, int64_t end) const;

  const BoundOp& op_;
  const LaneTools& tools_;
};

}  // namespace zero::run
