#pragma once
/// The ways to attention on a GPU: our own, and cuDNN's. What knows cuDNN are twins:
/// cudnn_attention.cpp where the headers of cudnn-frontend are, cudnn_attention_absent.cpp where
/// they are not, which takes no problem.

#include <string>

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

// cuDNN itself: the twins.

/// The library as it was found while running, "cuDNN 9.19.0", or "" where there is none that this
/// build can use.
const std::string& cudnn_name();

/// Whether cuDNN computes the problem, in both directions: it has plans for both that keep to
/// library_workspace_bytes(), the gradient's deterministic where the problem says so. The first
/// call with a problem makes the plans for the device in use: that takes a second or two, memory of
/// host and device, and no stream that is captured. No other call does. The answer depends on the
/// problem, the GPU and the library alone, so it is the same in every launch and on every rank.
/// Where it is no, the first call with that reason says it on stderr. Thread-safe.
bool cudnn_takes(const AttentionProblem& problem);

/// Arrays on the device, heads padded, addresses multiples of 16 bytes; dtypes, shapes and strides
/// as the problem says and zero/kernels/attention.hpp has them. Forward reads q, k and v and writes
/// y and logsumexp; backward reads all but the gradients, which it writes.
struct CudnnArrays {
  const void *q, *k, *v;
  const void* y;
  const float* logsumexp;
  const void* dy = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  const AttentionDropout* dropout = nullptr;  ///< where anything is dropped
  const int32_t* queries = nullptr;           ///< [samples], where tells_lengths(), at least 1 each
  const int32_t* keys = nullptr;              ///< [samples]
  const void* bias = nullptr;                 ///< [heads, length, keys], where there is one
  /// [samples, heads, length, keys], of which what no query sees may be left as it is.
  void* dbias = nullptr;
  void* workspace;  ///< of library_workspace_bytes()
};

/// For a problem that cudnn_takes(). logsumexp is what our own kernels would write. Masks are
/// cuDNN's own, a function of *dropout, sample within the micro-batch, head, query and key. What is
/// written for queries and keys behind those of a sample is not said.
/// Asynchronous on `stream`.
void cudnn_attention(Stream& stream, const AttentionProblem& problem, const CudnnArrays& arrays);
void cudnn_attention_backward(Stream& stream, const AttentionProblem& problem,
                              const CudnnArrays& arrays);

/// What cuDNN would do on a GPU that it knows from a description alone.
struct CudnnForecast {
  std::string refusal;  ///< "" if it takes the problem
  int64_t forward_bytes = 0, backward_bytes = 0;
};

/// `machine` is cuDNN's own description of a GPU, JSON, and `architecture` 90 for Hopper. Needs no
/// GPU but a driver's library, which may be one that knows none: for tests.
CudnnForecast cudnn_forecast(const std::string& machine, int architecture,
                             const AttentionProblem& problem);

}  // namespace zero::kernels::vendor
