#pragma once
/// One function for each plan::Kind. Operand order is that of plan.hpp.

#include "src/run/bound_op.hpp"

namespace zero::run {

void run_compute(const BoundOp& op, const LaneTools& tools);
/// What run_compute() makes when its thread first runs the op: prepare().
void prepare_compute(const BoundOp& op, Stream& stream);
void run_decide(const BoundOp& op, const LaneTools& tools);
void run_update(const BoundOp& op, const LaneTools& tools);
void run_add_norms(const BoundOp& op, const LaneTools& tools);
void run_apply_norms(const BoundOp& op, const LaneTools& tools);
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
