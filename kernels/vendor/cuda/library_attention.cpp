#include "kernels/support/rows.hpp"
#include "kernels/vendor/attention_library.hpp"
#include "kernels/vendor/cuda/attention.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kSpread = "zero::spread_bias";
const std::string kSum = "zero::sum_diagonals";

/// A call of the library, with its inputs beside q, k and v, written to scratch in front of it.
template <class T>
class LibraryCall {
 public:
  LibraryCall(Stream& stream, const AttentionLaunch& launch, const AttentionInputs<T>& in,
              void* scratch)
      : stream_(stream),
        launch_(launch),
        extents_(launch.extents),
        in_(in),
        scratch_(static_cast<std::byte*>(scratch)),
        at_(library_scratch(launch.extents)) {}

  CudnnArrays arrays() const {
    CudnnArrays arrays{.q = in_.q,
                       .k = in_.k,
                       .v = in_.v,
                       .y = nullptr,
                       .logsumexp = nullptr,
                       .workspace = scratch_ + at_.workspace};
    if (launch_.site.probability > 0.0f) arrays.dropout = written_dropout();
    if (tells_lengths(extents_)) {
      const SampleLengths lengths{piece<int32_t>(at_.queries), piece<int32_t>(at_.keys)};
      write_lengths(stream_, extents_, in_.key_counts, lengths);
      arrays.queries = lengths.queries;
      arrays.keys = lengths.keys;
    }
    if (extents_.biased) arrays.bias = spread_bias();
    return arrays;
  }

  /// Returns the bias gradient, cleared, because the library may add to it or leave out what no
  /// query sees.
  T* cleared_bias_gradient() const {
    T* const scores = piece<T>(at_.bias_gradient);
    const int64_t bytes = score_count(extents_, extents_.samples) * int64_t(sizeof(T));
    check_gpu(cudaMemsetAsync(scores, 0, size_t(bytes), native_stream(stream_)),
              "clearing the gradient of a bias");
    return scores;
  }
  void sum_diagonals(float* dbias) const {
    const SumDiagonals<T> code{extents_, in_.key_counts, piece<T>(at_.bias_gradient), dbias};
    launch_blocks<SumDiagonals<T>::kThreads>(stream_, kSum, code.blocks(), code, code.kSharedNumel);
  }

 private:
  template <class E>
  E* piece(int64_t at) const {
    return reinterpret_cast<E*>(scratch_ + at);
  }
  const AttentionDropout* written_dropout() const {
    auto* const drawn = piece<AttentionDropout>(at_.dropout);
    write_dropout(stream_, launch_.site, launch_.inputs, drawn);
    return drawn;
  }
  const T* spread_bias() const {
    const SpreadBias<T> code{extents_, in_.bias, piece<T>(at_.bias)};
    launch_blocks<SpreadBias<T>::kThreads>(stream_, kSpread, code.blocks(), code);
    return code.full;
  }

  Stream& stream_;
  const AttentionLaunch& launch_;
  AttentionExtents extents_;
  AttentionInputs<T> in_;
  std::byte* scratch_;
  AttentionScratch at_;
};

}  // namespace

template <class T>
void library_attention(Stream& stream, const AttentionProblem& problem,
                       const AttentionLaunch& launch, const AttentionArrays<T>& arrays) {
  const AttentionExtents& extents = problem.extents;
  CudnnArrays library = LibraryCall<T>(stream, launch, arrays.in, arrays.scratch).arrays();
  library.y = arrays.y;
  library.logsumexp = arrays.logsumexp;
  cudnn_attention(stream, problem, library);
  if (!extents.counted) return;
  clear_blind_queries<T>(stream, extents, arrays.in.key_counts,
                         {arrays.y, extents.inner_width(), arrays.logsumexp});
}

template <class T>
void library_attention_backward(Stream& stream, const AttentionProblem& problem,
                                const AttentionLaunch& launch,
                                const AttentionGradArrays<T>& arrays) {
  const AttentionExtents& extents = problem.extents;
  const AttentionInputs<T>& in = arrays.in;
  const LibraryCall<T> call(stream, launch, in, arrays.scratch);
  CudnnArrays library = call.arrays();
  library.y = arrays.y;
  library.logsumexp = arrays.logsumexp;
  library.dy = arrays.dy;
  library.dq = arrays.dq;
  library.dk = arrays.dk;
  library.dv = arrays.dv;
  if (extents.biased) library.dbias = call.cleared_bias_gradient();
  cudnn_attention_backward(stream, problem, library);
  if (extents.biased) call.sum_diagonals(arrays.dbias);
  if (!extents.counted) return;
  clear_blind_queries<T>(stream, extents, in.key_counts, {arrays.dq, in.q_stride});
  clear_padding<T>(stream, extents, in.key_counts, {arrays.dk, arrays.dv, in.kv_stride});
}

template void library_attention(Stream&, const AttentionProblem&, const AttentionLaunch&,
                                const AttentionArrays<bf16>&);
template void library_attention(Stream&, const AttentionProblem&, const AttentionLaunch&,
                                const AttentionArrays<f16>&);
template void library_attention_backward(Stream&, const AttentionProblem&, const AttentionLaunch&,
                                         const AttentionGradArrays<bf16>&);
template void library_attention_backward(Stream&, const AttentionProblem&, const AttentionLaunch&,
                                         const AttentionGradArrays<f16>&);

}  // namespace zero::kernels::vendor
