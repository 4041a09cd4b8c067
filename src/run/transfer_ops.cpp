#include "src/run/kind_functions.hpp"
#include "zero/base/align.hpp"
#include "zero/device/copy.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::run {

void run_copy(const BoundOp& op, const LaneTools& tools) {
  copy_bytes(tools.stream, {op.operand<const std::byte>(0), size_t(op.operand_bytes(0))},
             op.operand<std::byte>(1));
}

namespace {

/// A disk moves whole pages: what follows a buffer up to the end of its last one belongs to nobody.
std::span<std::byte> pages(const BoundOp& op, size_t operand) {
  const int64_t bytes = round_up(op.operand_bytes(operand), plan::kPageBytes);
  return {op.operand<std::byte>(operand), size_t(bytes)};
}

tiers::Sums sums_of(const BoundOp& op) {
  return op.sums_by_user ? tiers::Sums::by_user : tiers::Sums::here;
}

}  // namespace

// A disk knows no streams: who calls these has waited for what is queued.

void run_disk_read(const BoundOp& op, const LaneTools& tools) {
  tools.disk->read(op.disk_offset, pages(op, 1), sums_of(op));
}

void run_disk_write(const BoundOp& op, const LaneTools& tools) {
  tools.disk->write(op.disk_offset, pages(op, 0), tools.step, sums_of(op));
}

}  // namespace zero::run
