#include "tests/support/naive.hpp"

#include <algorithm>

#include "zero/graph/operation.hpp"

namespace zero::run {
namespace {

/// 0xFF bytes are a NaN in every floating-point type and -1 in every integer type.
std::vector<std::byte> poisoned(int64_t bytes) {
  return std::vector<std::byte>(size_t(bytes), std::byte{0xFF});
}

}  // namespace

NaiveExecutor::NaiveExecutor(const graph::Graph& graph, int threads)
    : graph_(graph), stream_(threads) {
  for (const graph::Tensor& tensor : graph.tensors) buffers_.push_back(poisoned(tensor.bytes()));
  for (const graph::Constant& constant : graph.constants)
    std::ranges::copy(*constant.values, values<float>(constant.tensor).begin());
  int64_t scratch = 0;
  for (const graph::Op& op : graph.ops) {
    scratch = std::max(scratch, op.kind->scratch_bytes(graph, op, threads));
  }
  scratch_ = poisoned(scratch);
}

std::span<std::byte> NaiveExecutor::bytes(graph::TensorId tensor) {
  return buffers_[size_t(tensor)];
}

void NaiveExecutor::run(int64_t sample_offset) {
  adopt_threads(stream_);
  std::vector<void*> operands;
  const auto resolve = [&](graph::TensorId tensor) {
    operands.push_back(tensor == graph::kNone ? nullptr : buffers_[size_t(tensor)].data());
  };
  for (const graph::Op& op : graph_.ops) {
    operands.clear();
    std::for_each(op.inputs.begin(), op.inputs.end(), resolve);
    std::for_each(op.outputs.begin(), op.outputs.end(), resolve);
    graph::call(stream_, {.graph = &graph_,
                          .op = &op,
                          .operands = operands,
                          .scratch = {scratch_.data()},
                          .sample_offset = sample_offset});
  }
  stream_.wait();
}

}  // namespace zero::run
