#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "zero/graph/graph_passes.hpp"
#include "zero/plan/request.hpp"

namespace zero::testing {

/// Expects that trained(request, recompute) has the same bytes at every stage, on 1, 2 and 4 ranks,
/// in fp32 and bf16, as on one rank at stage 0.
template <class Trained>
void expect_same_at_every_stage(const Trained& trained) {
  plan::Request request;
  request.reproducible = true;
  for (Dtype compute : {Dtype::f32, Dtype::bf16}) {
    request.compute = compute;
    request.stage = 0, request.ranks = 1;
    const std::vector<std::byte> expected = trained(request, graph::Recompute::none);
    for (int stage : {0, 1, 2, 3}) {
      for (int ranks : {1, 2, 4}) {
        request.stage = stage, request.ranks = ranks;
        const auto policy = ranks == 2 ? graph::Recompute::full : graph::Recompute::none;
        EXPECT_EQ(trained(request, policy), expected)
            << "stage " << stage << " on " << ranks << " ranks in " << name_of(compute);
      }
    }
  }
}

}  // namespace zero::testing
