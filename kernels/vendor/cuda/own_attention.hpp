#pragma once
/// Our own attention on a GPU, for whatever no library computes: any length, heads of at most
/// kHeadWidthMost.

#include "kernels/vendor/attention_block.hpp"

namespace zero::kernels::vendor {

/// As zero/kernels/attention.hpp says, with the host's masks. Asynchronous on `stream`.
template <class T>
void own_attention(Stream& stream, const AttentionLaunch& launch, const AttentionArrays<T>& arrays);

/// Wants own_scratch_bytes() of scratch.
template <class T>
void own_attention_backward(Stream& stream, const AttentionLaunch& launch,
                            const AttentionGradArrays<T>& arrays);

}  // namespace zero::kernels::vendor
