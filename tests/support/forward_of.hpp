#pragma once
/// The forward graph of a family with its own head.

#include "zero/model/family.hpp"

namespace zero::model {

inline graph::Graph forward_of(const Architecture& model, const ForwardOptions& options) {
  graph::GraphBuilder out(options.micro, options.compute);
  model.family->head(out, model, model.family->trunk(out, model, options), options);
  return out.finish();
}

}  // namespace zero::model
