#include "src/run/kind_functions.hpp"

namespace zero::run {
namespace {

comm::Piece piece(const plan::PlanOp& op) {
  return {.shard_numel = op.shard_numel, .begin = op.piece_begin, .numel = op.piece_numel};
}

}  // namespace

void run_all_gather(const BoundOp& op, const LaneTools& tools) {
  tools.comm->all_gather(tools.stream, op.op->in, piece(*op.op), op.operands[0], op.operands[1]);
}

void run_reduce_scatter(const BoundOp& op, const LaneTools& tools) {
  using Store = comm::Communicator::Store;
  const comm::Communicator::Reduction reduction{.in = op.op->in,
                                                .out = op.op->out,
                                                .store = op.op->add ? Store::add : Store::write,
                                                .group_sums = static_cast<float*>(op.operands[2])};
  tools.comm->reduce_scatter(tools.stream, reduction, piece(*op.op), op.operands[0],
                             op.operands[1]);
}

void run_all_reduce(const BoundOp& op, const LaneTools& tools) {
  const size_t words = size_t(op.operand_bytes(0)) / sizeof(int64_t);
  tools.comm->all_reduce(tools.stream, {op.operand<int64_t>(0), words});
}

}  // namespace zero::run
