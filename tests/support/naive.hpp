#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "zero/device/stream.hpp"
#include "zero/graph/graph.hpp"

namespace zero::run {

/// Interprets a graph in program order, one buffer a tensor: slow, obvious, and kept for ever as
/// the reference that plans are compared with bit for bit. Buffers start filled with 0xFF, so a
/// read before a write shows.
class NaiveExecutor {
 public:
  NaiveExecutor(const graph::Graph& graph, int threads);

  std::span<std::byte> bytes(graph::TensorId tensor);
  template <class T>
  std::span<T> values(graph::TensorId tensor) {
    const std::span<std::byte> raw = bytes(tensor);
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }

  /// Runs every op once, as the micro-batch that begins `sample_offset` samples into the step.
  void run(int64_t sample_offset);

 private:
  const graph::Graph& graph_;
  Stream stream_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::byte> scratch_;
};

}  // namespace zero::run
