#pragma once

#include <string_view>

#include "zero/graph/graph.hpp"

namespace zero::graph {

class GradientTape;

/// What is known about one kind of op; one table row, defined in src/graph/ops/<kind>.cpp.
struct OpInfo {
  std::string_view name;
  /// Floating-point operations of products and attention; 0 for what is bound by memory.
  double (*flops)(const Graph& graph, const Op& op);
  /// Bytes of scratch the kernel wants when it runs with `threads` threads.
  int64_t (*scratch_bytes)(const Graph& graph, const Op& op, int threads);
  /// Appends the ops that compute the gradients of op's inputs; null: backward ops have none.
  void (*gradient)(GradientTape& tape, const Op& op);
};

const OpInfo& info(OpKind kind);

/// Bytes that the op reads and writes once: what bounds an elementwise op.
int64_t traffic_bytes(const Graph& graph, const Op& op);

}  // namespace zero::graph
