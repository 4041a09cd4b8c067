#pragma once
/// The ways to attention on a GPU: our own, and cuDNN's. Only twins know cuDNN: cudnn_attention.cpp
/// where the headers of cudnn-frontend are, else cudnn_attention_absent.cpp, which takes no
/// problem.

#include <string>

#include "kernels/vendor/attention_block.hpp"
#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

// Our own, for whatever no library computes: any length, heads of at most kHeadWidthMost.

/// Computes attention() of zero/kernels/attention.hpp, with the host's masks. Asynchronous on
/// `stream`.
template <class T>
void own_attention(Stream& stream, const AttentionLaunch& launch, const AttentionArrays<T>& arrays);

/// Computes attention_backward(), in own_scratch_bytes() of scratch. Asynchronous on `stream`.
template <class T>
void own_attention_backward(Stream& stream, const AttentionLaunch& launch,
                            const AttentionGradArrays<T>& arrays);

// By cuDNN, with the work around it: numbers for masks, lengths of samples, a bias for each score,
// its gradient back to diagonals, and zeros where ours are.

/// Computes attention() of zero/kernels/attention.hpp; T is bf16 or f16. Uses library_scratch() of
/// scratch. Rounds a bias to T. Asynchronous on `stream`. REQUIRES: cudnn_takes(problem).
template <class T>
void library_attention(Stream& stream, const AttentionProblem& problem,
                       const AttentionLaunch& launch, const AttentionArrays<T>& arrays);

template <class T>
void library_attention_backward(Stream& stream, const AttentionProblem& problem,
                                const AttentionLaunch& launch,
                                const AttentionGradArrays<T>& arrays);

// cuDNN itself: the twins.

/// Returns the library found at run time, "cuDNN 9.19.0", or "" if there is none that this build
/// can use.
const std::string& cudnn_name();

/// True if cuDNN has plans for both directions of the problem that keep to
/// library_workspace_bytes(), deterministic if the problem says so. The first call with a problem
/// makes the plans for the device in use. This takes a second or two, memory of host and device,
/// and a stream that is not captured; no other call does. The answer depends on the problem, the
/// GPU and the library alone, so all launches and ranks agree. The first refusal for each reason is
/// told on stderr. Thread-safe.
bool cudnn_takes(const AttentionProblem& problem);

/// The arrays of a problem on the device, heads padded, addresses multiples of 16 bytes. dtypes,
/// shapes and strides follow the problem and zero/kernels/attention.hpp. Forward reads q, k and v
/// and writes y and logsumexp; backward reads all but the gradients, which it writes.
struct CudnnArrays {
  const void *q, *k, *v;
  const void* y;
  const float* logsumexp;
  const void* dy = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  const AttentionDropout* dropout = nullptr;  ///< null without dropout
  const int32_t* queries = nullptr;  ///< [samples], at least 1 each; null unless tells_lengths()
  const int32_t* keys = nullptr;     ///< [samples]
  const void* bias = nullptr;        ///< [heads, length, keys], or null
  /// [samples, heads, length, keys]; scores that no query sees may be left as they are.
  void* dbias = nullptr;
  void* workspace;  ///< library_workspace_bytes() bytes
};

/// Queues attention by cuDNN. logsumexp is what our own kernels would write. Masks are cuDNN's own,
/// a function of *dropout, sample within the micro-batch, head, query and key. Results for queries
/// and keys behind those of a sample are undefined. Asynchronous on `stream`. REQUIRES:
/// cudnn_takes(problem).
void cudnn_attention(Stream& stream, const AttentionProblem& problem, const CudnnArrays& arrays);
void cudnn_attention_backward(Stream& stream, const AttentionProblem& problem,
                              const CudnnArrays& arrays);

/// A forecast of cuDNN on a GPU that it knows from a description alone.
struct CudnnForecast {
  std::string refusal;  ///< "" if it takes the problem
  int64_t forward_bytes = 0, backward_bytes = 0;
};

/// Returns the forecast for a GPU; `machine` is cuDNN's own description in JSON, `architecture` 90
/// for Hopper. For tests: needs no GPU, but a driver's library, which may know none.
CudnnForecast cudnn_forecast(const std::string& machine, int architecture,
                             const AttentionProblem& problem);

}  // namespace zero::kernels::vendor
