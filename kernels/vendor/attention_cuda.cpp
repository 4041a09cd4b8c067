// Which way attention is computed on a GPU, and what the library's way wants around it.

#include "kernels/vendor/cudnn_attention_cuda.hpp"
#include "kernels/vendor/head_padding.hpp"
#include "kernels/vendor/own_attention_cuda.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

/// Of the process, set before its first attention.
AttentionRules rules_of_attention;

void check(const AttentionExtents& extents, const DropoutSite& site) {
  ZERO_REQUIRE(
      extents.samples > 0 && extents.length > 0 && extents.heads > 0 && extents.head_width > 0,
      "attention over ", extents.samples, " samples of ", extents.length, " tokens with ",
      extents.heads, " heads of ", extents.head_width, ": all must be at least 1");
  ZERO_REQUIRE(site.probability >= 0.0f && site.probability < 1.0f, "dropout probability ",
               site.probability, ": choose one in [0, 1)");
  if (extents.head_width > kHeadWidthMost) {
    refuse(Exit::kUsage, "heads of ", extents.head_width, ": attention on a GPU takes at most ",
           kHeadWidthMost, " - choose more heads");
  }
}

template <class T>
AttentionProblem problem_of(const AttentionExtents& extents, const DropoutSite& site) {
  return {.extents = extents,
          .dtype = dtype_of<T>(),
          .dropout = site.probability,
          .deterministic = rules_of_attention.deterministic};
}

/// One call of the library, with its pieces of scratch.
template <class T>
class LibraryCall {
 public:
  LibraryCall(Stream& stream, const AttentionProblem& problem, void* scratch)
      : stream_(stream),
        extents_(problem.extents),
        pads_(needs_padding(problem.extents)),
        base_(static_cast<std::byte*>(scratch)),
        at_(library_scratch(problem.extents, problem.dtype)) {}

  const AttentionScratch& at() const { return at_; }

  template <class Array>
  Array* piece(int64_t offset) const {
    return reinterpret_cast<Array*>(base_ + offset);
  }

  /// An array of so many parts that the library reads, as wide as it wants it.
  const T* widened(const T* array, int64_t parts, int64_t offset) const {
    if (!pads_) return array;
    resize_heads(stream_, {head_count(extents_, parts), extents_.head_width, wide()}, array,
                 piece<T>(offset));
    return piece<T>(offset);
  }
  /// Where the library writes what narrow() brings to `array` afterwards.
  T* target(T* array, int64_t offset) const { return pads_ ? piece<T>(offset) : array; }
  void narrow(T* array, int64_t parts, int64_t offset) const {
    if (!pads_) return;
    resize_heads<T>(stream_, {head_count(extents_, parts), wide(), extents_.head_width},
                    piece<T>(offset), array);
  }
  const AttentionDropout* dropout(const DropoutSite& site, const StepInputs* inputs) const {
    if (site.probability == 0.0f) return nullptr;
    auto* const drawn = piece<AttentionDropout>(at_.dropout);
    write_dropout(stream_, site, inputs, drawn);
    return drawn;
  }

 private:
  int64_t wide() const { return padded(extents_).head_width; }

  Stream& stream_;
  AttentionExtents extents_;
  bool pads_;
  std::byte* base_;
  AttentionScratch at_;
};

template <class T>
void library_attention(Stream& stream, const AttentionProblem& problem, const DropoutSite& site,
                       const StepInputs* inputs, const AttentionArrays<T>& arrays) {
  const LibraryCall<T> call(stream, problem, arrays.scratch);
  cudnn_attention(stream, problem,
                  {.qkv = call.widened(arrays.qkv, 3, call.at().qkv),
                   .y = call.target(arrays.y, call.at().y),
                   .logsumexp = arrays.logsumexp,
                   .dropout = call.dropout(site, inputs),
                   .workspace = call.template piece<void>(call.at().workspace)});
  call.narrow(arrays.y, 1, call.at().y);
}

template <class T>
void library_attention_backward(Stream& stream, const AttentionProblem& problem,
                                const DropoutSite& site, const StepInputs* inputs,
                                const AttentionGradArrays<T>& arrays) {
  const LibraryCall<T> call(stream, problem, arrays.scratch);
  cudnn_attention_backward(stream, problem,
                           {.qkv = call.widened(arrays.qkv, 3, call.at().qkv),
                            .y = call.widened(arrays.y, 1, call.at().y),
                            .logsumexp = arrays.logsumexp,
                            .dy = call.widened(arrays.dy, 1, call.at().dy),
                            .dqkv = call.target(arrays.dqkv, call.at().dqkv),
                            .dropout = call.dropout(site, inputs),
                            .workspace = call.template piece<void>(call.at().workspace)});
  call.narrow(arrays.dqkv, 3, call.at().dqkv);
}

}  // namespace
}  // namespace vendor

void prepare_attention(const AttentionExtents&, Dtype, bool) {}

int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype dtype, int) {
  return vendor::either_scratch_bytes(extents, dtype);
}

void set_attention_rules(const AttentionRules& rules) { vendor::rules_of_attention = rules; }

const char* attention_library() { return vendor::cudnn_name().c_str(); }

template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays) {
  vendor::check(extents, site);
  if constexpr (sizeof(T) == 2) {
    const vendor::AttentionProblem problem = vendor::problem_of<T>(extents, site);
    if (vendor::cudnn_takes(problem))
      return vendor::library_attention<T>(stream, problem, site, inputs, arrays);
  }
  vendor::own_attention<T>(stream, {extents, site, inputs}, arrays);
}

template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays) {
  vendor::check(extents, site);
  if constexpr (sizeof(T) == 2) {
    const vendor::AttentionProblem problem = vendor::problem_of<T>(extents, site);
    if (vendor::cudnn_takes(problem))
      return vendor::library_attention_backward<T>(stream, problem, site, inputs, arrays);
  }
  vendor::own_attention_backward<T>(stream, {extents, site, inputs}, arrays);
}

template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<float>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<bf16>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<f16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<float>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<bf16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<f16>&);

}  // namespace zero::kernels
