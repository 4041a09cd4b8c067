#pragma once
/// The two ways to attention on a GPU.

#include "kernels/vendor/attention_block.hpp"
#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

// Our own, for whatever no library computes: any length, heads of at most kHeadWidthMost.

/// As zero/kernels/attention.hpp says, with the host's masks. Asynchronous on `stream`.
template <class T>
void own_attention(Stream& stream, const AttentionLaunch& launch, const AttentionArrays<T>& arrays);

/// Wants own_scratch_bytes() of scratch.
template <class T>
void own_attention_backward(Stream& stream, const AttentionLaunch& launch,
                            const AttentionGradArrays<T>& arrays);

// By cuDNN, with what it wants around it: where it draws masks from, lengths of samples,
// a bias for each score, whose gradient comes back to diagonals, and zeros where ours are.

/// As zero/kernels/attention.hpp says, for a problem that cudnn_takes(); T is bf16 or f16. Wants
/// library_scratch() of scratch. A bias is rounded to T. Asynchronous on `stream`.
template <class T>
void library_attention(Stream& stream, const AttentionProblem& problem,
                       const AttentionLaunch& launch, const AttentionArrays<T>& arrays);

template <class T>
void library_attention_backward(Stream& stream, const AttentionProblem& problem,
                                const AttentionLaunch& launch,
                                const AttentionGradArrays<T>& arrays);

}  // namespace zero::kernels::vendor
