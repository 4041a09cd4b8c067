#pragma once

#include <vector>

#include "src/compile/body_writer.hpp"

namespace zero::plan {

/// An activation that rests beside the device between the passes of a micro-batch. All but the
/// tensor are ops of the graph.
struct MovedActivation {
  graph::TensorId tensor;
  int32_t away;   ///< after which it leaves the device
  int32_t gone;   ///< before which its bytes there are wanted
  int32_t ahead;  ///< before which it begins to come back
  int32_t back;   ///< the first op of the block that reads it, which has to be waited for
};

/// What recomputation begins with, a block's input under full recompute: an op of the forward pass
/// makes it, and one that runs again reads it. It comes back `blocks` blocks ahead of its use, and
/// takes as long to leave. What would come back before the backward pass has left the head of the
/// model stays: it would save no byte where the most are held. In the order of coming back.
std::vector<MovedActivation> find_moved(const graph::Graph& graph, int blocks);

/// Moves them, in one body.
class ActivationHomes {
 public:
  ActivationHomes(BodyWriter& writer, ComputeWriter& compute, int32_t graph);

  /// An op of the micro-batch in progress is about to be written, is written, was the last one.
  void before(int32_t op);
  void after(int32_t op);
  void end_micro();

 private:
  /// Ops of the body that have time until an op of the graph.
  struct Moves {
    int32_t begin, end, until;
  };
  void leave(size_t which);
  void come_back(size_t which);

  BodyWriter& writer_;
  ComputeWriter& compute_;
  std::vector<MovedActivation> moved_;
  std::vector<int32_t> places_;     ///< [moved] the buffer that holds it meanwhile
  std::vector<int32_t> positions_;  ///< [ops of the graph] in the body
  std::vector<Moves> moves_;
};

}  // namespace zero::plan
