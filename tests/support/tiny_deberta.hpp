#pragma once
/// A small classifier of texts, of 61 tokens as TinyModel, without dropout.

#include "src/model/deberta.hpp"

namespace zero::testing {

/// Texts of 8 tokens reach buckets that several distances share.
inline constexpr model::Deberta kTinyDeberta{.layers = 2,
                                             .width = 16,
                                             .heads = 2,
                                             .inner = 24,
                                             .vocabulary = 61,
                                             .buckets = 6,
                                             .distance = 12,
                                             .convolves = true};

}  // namespace zero::testing
