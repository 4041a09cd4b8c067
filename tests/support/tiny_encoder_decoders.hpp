#pragma once
/// Small encoder-decoders, of 61 tokens as TinyModel, without dropout and smoothing.

#include "src/model/blenderbot.hpp"
#include "src/model/t5.hpp"

namespace zero::testing {

inline constexpr model::T5 kTinyT5{.layers = 2,
                                   .decoder_layers = 2,
                                   .width = 16,
                                   .heads = 2,
                                   .head_width = 12,
                                   .inner = 24,
                                   .vocabulary = 61,
                                   .buckets = 8,
                                   .distance = 6};
inline constexpr model::Blenderbot kTinyBlenderbot{.layers = 1,
                                                   .decoder_layers = 2,
                                                   .width = 16,
                                                   .heads = 2,
                                                   .inner = 24,
                                                   .decoder_inner = 32,
                                                   .vocabulary = 61,
                                                   .positions = 8};

}  // namespace zero::testing
