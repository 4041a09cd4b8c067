#include "kernels/vendor/host/attention_backward.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/host_threads.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

/// A bias by diagonal, and its gradient; or none.
struct BiasTerms {
  const float* bias;  ///< bias of this head; null: none
  float* log2_bias;   ///< [diagonals], in units of log 2 and from the last to the first
  float* dbias;       ///< [diagonals] of this head, last to first

  int64_t diagonals;

  void begin_head() const {
    if (!bias) return;
    for (int64_t i = 0; i < diagonals; ++i) log2_bias[i] = kLog2E * bias[diagonals - 1 - i];
    std::fill_n(dbias, diagonals, 0.0f);
  }
  void begin_queries(int64_t) const {}
  void add_to_tile(const Tile&, const float*) const {}
  void take_tile(const Tile&, const float*) const {}
  void end_queries(int64_t) const {}
  void end_head() const {}

  template <class T, class C>
  void compute_row(const BackwardHead<T, C, BiasTerms>& work, const Tile& tile, int64_t key,
                   const GradientRow& row) const {
    const BackwardScratch<C>& s = work.scratch;
    const int64_t at = (key - tile.key) * tile.queries;
    if (bias)
      compute_biased_row(work, tile, key, row);
    else
      gradient_row<false>(work.dropout, row, tile.queries, s.probabilities + at, s.ds + at);
  }

 private:
  /// Computes one key's row with a bias. Diagonals lie from the last to the first, so along the
  /// row.
  template <class T, class C>
  void compute_biased_row(const BackwardHead<T, C, BiasTerms>& work, const Tile& tile, int64_t key,
                          GradientRow row) const {
    const BackwardScratch<C>& s = work.scratch;
    const int64_t at = (key - tile.key) * tile.queries;
    const int64_t diagonal = work.head.extents.key_length() - 1 - key + tile.query;
    float shift[kQueries], unrounded[kQueries];
    for (int64_t c = 0; c < tile.queries; ++c) shift[c] = row.shift[c] - log2_bias[diagonal + c];
    row.shift = shift;
    row.unrounded = unrounded;
    gradient_row<true>(work.dropout, row, tile.queries, s.probabilities + at, s.ds + at);
    float* const sums = dbias + diagonal;
    for (int64_t c = hidden_queries(work.head, tile, key); c < tile.queries; ++c)
      sums[c] += unrounded[c];
  }
};

/// Writes dbias[head, d] = the sum over samples, in their order, of sums [samples, heads,
/// diagonals], which lie from the last diagonal to the first.
void add_samples(int threads, const AttentionExtents& extents, const float* sums, float* dbias) {
  const int64_t diagonals = extents.diagonals();
  on_threads(threads, extents.heads, [&](int, int64_t head) {
    float* const to = dbias + head * diagonals;
    std::fill_n(to, diagonals, 0.0f);
    for (int64_t sample = 0; sample < extents.samples; ++sample) {
      const float* from = sums + ((sample * extents.heads + head) + 1) * diagonals - 1;
      for (int64_t i = 0; i < diagonals; ++i) to[i] += from[-i];
    }
  });
}

template <class T, class C>
void attend_backward(int threads, const AttentionExtents& extents, const DropoutSite& site,
                     const StepInputs& inputs, const AttentionGradArrays<T>& arrays) {
  const int64_t slice_bytes = backward_slice_bytes(extents, dtype_of<C>());
  auto* const scratch = static_cast<std::byte*>(arrays.scratch);
  auto* const sums = reinterpret_cast<float*>(scratch + threads * slice_bytes);
  on_threads(threads, extents.samples * extents.heads, [&](int thread, int64_t item) {
    Slice slice(scratch + thread * slice_bytes);
    const Head head(extents, arrays.in.key_counts, item);
    const BackwardScratch<C> own(extents, slice);
    const BiasTerms terms{.bias = head.diagonals(arrays.in.bias),
                          .log2_bias = own.log2_bias,
                          .dbias = extents.biased ? sums + item * extents.diagonals() : nullptr,
                          .diagonals = extents.diagonals()};
    backward_head(BackwardHead<T, C, BiasTerms>{.head = head,
                                                .arrays = arrays,
                                                .scratch = own,
                                                .mask = HeadMask(head, site, inputs),
                                                .terms = terms,
                                                .dropout = site.probability > 0.0f,
                                                .scale = 1.0f / extents.divisor()});
  });
  if (extents.biased) add_samples(threads, extents, sums, arrays.dbias);
}

}  // namespace

void prepare_backward(const AttentionExtents& extents, Dtype compute) {
  for_score_rows(extents, [&](const ScoreRows& rows) {
    for_tiles(rows, kBackwardKeys, [&](const Tile& tile) {
      const TileSpecs specs(tile, extents.head_width, compute);
      for (const GemmSpec& spec : {specs.scores, specs.keys, specs.queries})
        prepare_host_gemm(spec, 1);
    });
  });
}

int64_t bias_sums_bytes(const AttentionExtents& extents) {
  if (!extents.biased) return 0;
  return extents.samples * extents.heads * extents.diagonals() * int64_t(sizeof(float));
}

int64_t backward_slice_bytes(const AttentionExtents& extents, Dtype compute) {
  Slice slice(nullptr);
  if (compute == Dtype::bf16)
    BackwardScratch<bf16>(extents, slice);
  else
    BackwardScratch<float>(extents, slice);
  return slice.bytes();
}

}  // namespace vendor

template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays) {
  vendor::check_attention(extents, site, arrays.in);
  if constexpr (std::is_same_v<T, bf16>) {
    if (vendor::multiplies(Dtype::bf16))
      return vendor::attend_backward<T, bf16>(stream.threads(), extents, site, *inputs, arrays);
  }
  vendor::attend_backward<T, float>(stream.threads(), extents, site, *inputs, arrays);
}

template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<float>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<bf16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<f16>&);

}  // namespace zero::kernels
