#pragma once

#include <cstdint>
#include <span>

#include "zero/device/stream.hpp"
#include "zero/graph/graph.hpp"

namespace zero::run {

/// One op with its operands resolved to addresses: op.inputs, then op.outputs, in order; null where
/// an optional tensor is absent.
struct OpCall {
  const graph::Graph* graph;
  const graph::Op* op;
  std::span<void* const> operands;
  void* scratch = nullptr;    ///< info(kind).scratch_bytes bytes
  int64_t sample_offset = 0;  ///< first sample of the micro-batch, counted from the step's first
  bool sums = false;          ///< the first output is an fp32 sum: gradients of weights alone
  bool add = false;           ///< ... which is added to
};

/// Calls the kernel of op.kind: the one place where graph meets arithmetic. Asynchronous on
/// `stream`; allocates nothing.
void call(Stream& stream, const OpCall& call);

/// Makes the kernels of products that call() would make when this thread first calls the op, so
/// that what is refused then is refused now; touches no operand.
void prepare(Stream& stream, const OpCall& call);

}  // namespace zero::run
