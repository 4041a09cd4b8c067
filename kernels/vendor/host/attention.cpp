#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/host_threads.hpp"
#include "kernels/vendor/host/attention_forward.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

/// A bias by diagonal, or none.
struct BiasTerms {
  const float* bias;  ///< bias of this head, or null

  void begin_head(const void*) const {}
  void begin_queries(int64_t, const void*) const {}
  void add_to_tile(const Tile&, int64_t, const float*) const {}
  /// Adds the bias times the divisor, because scores are divided later.
  void add_to_row(const Head& head, const Tile& tile, int64_t i, float* row) const {
    if (!bias) return;
    const float divisor = divisor_after_cap(head.extents);
    const float* own = bias + head.extents.length - 1 - (tile.query + i) + tile.key;
    const int64_t visible = std::min(tile.keys, head.visible(tile.query + i) - tile.key);
    for (int64_t j = 0; j < visible; ++j) row[j] = std::fma(divisor, own[j], row[j]);
  }
};

void prepare_forward(const AttentionExtents& extents, Dtype compute) {
  const int64_t d = extents.head_width;
  for_tile_shapes(extents, kForwardKeys, [&](const Tile& tile) {
    prepare_host_gemm(scores_spec(tile, d, compute), 1);
    prepare_host_gemm(values_spec(tile, d, compute), 1);
  });
}

template <class T, class C>
void attend(int threads, const AttentionExtents& extents, const DropoutSite& site,
            const StepInputs& inputs, const AttentionArrays<T>& arrays) {
  const int64_t slice_bytes = forward_slice_bytes(extents, dtype_of<C>());
  on_threads(threads, extents.samples * extents.heads, [&](int thread, int64_t item) {
    Slice slice(static_cast<std::byte*>(arrays.scratch) + thread * slice_bytes);
    const Head head(extents, arrays.in.key_counts, item, arrays.in.first);
    ForwardHead<T, C, BiasTerms> work{.head = head,
                                      .arrays = arrays,
                                      .scratch = ForwardScratch<C>(extents, slice),
                                      .mask = HeadMask(head, site, inputs),
                                      .terms = {head.diagonals(arrays.in.bias)},
                                      .dropout = site.probability > 0.0f,
                                      .log2_scale = kLog2E / divisor_after_cap(extents),
                                      .rows = {},
                                      .cap = ScoreCap(extents.cap, extents.divisor())};
    attend_head(work);
  });
}

}  // namespace

void require_first_keys(const AttentionExtents& extents, const int32_t* first) {
  for (int64_t row = 0; extents.ranged && row < extents.samples * extents.length; ++row) {
    const int64_t query = row % extents.length, least = query > 0 ? first[row - 1] : 0;
    ZERO_REQUIRE(first[row] >= least && first[row] <= query, "query ", query, " of sample ",
                 row / extents.length, " begins at key ", first[row], ": choose one of ", least,
                 " to ", query);
  }
}

int64_t forward_slice_bytes(const AttentionExtents& extents, Dtype compute) {
  Slice slice(nullptr);
  if (compute == Dtype::bf16)
    ForwardScratch<bf16>(extents, slice);
  else
    ForwardScratch<float>(extents, slice);
  return slice.bytes();
}

}  // namespace vendor

int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype dtype, int threads) {
  const Dtype compute = vendor::compute_dtype(dtype);
  return threads * std::max(vendor::forward_slice_bytes(extents, compute),
                            vendor::backward_slice_bytes(extents, compute)) +
         vendor::bias_sums_bytes(extents) + vendor::key_sums_bytes(extents);
}

void prepare_attention(const AttentionExtents& extents, Dtype dtype, bool backward) {
  const Dtype compute = vendor::compute_dtype(dtype);
  backward ? vendor::prepare_backward(extents, compute) : vendor::prepare_forward(extents, compute);
}

void set_attention_rules(const AttentionRules&) {}

const char* attention_library() { return ""; }

template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays) {
  vendor::check_attention(extents, site, arrays.in);
  vendor::require_first_keys(extents, arrays.in.first);
  if constexpr (std::is_same_v<T, bf16>) {
    if (vendor::multiplies(Dtype::bf16))
      return vendor::attend<T, bf16>(stream.threads(), extents, site, *inputs, arrays);
  }
  vendor::attend<T, float>(stream.threads(), extents, site, *inputs, arrays);
}

template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<float>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<bf16>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<f16>&);

}  // namespace zero::kernels
