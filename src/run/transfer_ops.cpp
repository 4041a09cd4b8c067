#include "src/run/kind_functions.hpp"
#include "zero/device/copy.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::run {

void run_copy(const BoundOp& op, const LaneTools& tools) {
  copy_bytes(tools.stream, {op.operand<const std::byte>(0), size_t(op.operand_bytes(0))},
             op.operand<std::byte>(1));
}

void run_disk_read(const BoundOp& op, const LaneTools& tools) {
  tools.disk->read(op.disk_offset, {op.operand<std::byte>(1), size_t(op.operand_bytes(1))});
}

void run_disk_write(const BoundOp& op, const LaneTools& tools) {
  tools.disk->write(op.disk_offset, {op.operand<std::byte>(0), size_t(op.operand_bytes(0))},
                    tools.step);
}

}  // namespace zero::run
