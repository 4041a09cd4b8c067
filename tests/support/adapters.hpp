#pragma once
/// An alteration that lives in the tests alone: low-rank adapters of some products (Hu et al. 2021,
/// arXiv:2106.09685). x W becomes x W + scale (x A) B, also for a part of the columns of a packed
/// W. Only A and B are trained. All other weights are borrowed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zero/model/recipe.hpp"

namespace zero::testing {

/// Weights whose names end so, and the part of their columns that is adapted.
struct AdapterTarget {
  std::string_view weight;  ///< ".c_attn.weight"
  std::string_view part;    ///< in the names of A and B: "q"
  int64_t parts = 1;        ///< equal parts of the columns
  int64_t number = 0;       ///< the adapted part
};

/// Queries and values of GPT-2, and the products behind attention.
inline const std::vector<AdapterTarget> kGpt2Targets = {
    {".c_attn.weight", "q", 3, 0}, {".c_attn.weight", "v", 3, 2}, {".attn.c_proj.weight", "whole"}};

struct Adapters {
  int64_t rank = 4;
  float scale = 0.5f;
  std::vector<AdapterTarget> targets = kGpt2Targets;
};

/// A is drawn, B begins with zeros, so the first forward pass is that of the model without them.
model::Alteration adapting(const Adapters& adapters);

}  // namespace zero::testing
