#include "kernels/vendor/host/attention_backward.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/host_threads.hpp"
#include "kernels/support/row_chunks.hpp"
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
    if (bias) return compute_biased_row(work, tile, key, row);
    const BackwardScratch<C>& s = work.scratch;
    const Interval seeing = work.head.seeing_queries(tile, key);
    const int64_t lead = seeing.begin / kRowLanes * kRowLanes;
    const int64_t at = (key - tile.key) * tile.queries + lead;
    gradient_row<false>(work.dropout, row.from(lead), seeing.end - lead, s.probabilities + at,
                        s.ds + at);
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
    const Interval seeing = work.head.seeing_queries(tile, key);
    for (int64_t c = seeing.begin; c < seeing.end; ++c) sums[c] += unrounded[c];
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

/// The heads of queries that share a head of keys, in parts that threads compute at the same time.
/// Each part sums dk and dv on its own. The parts follow from the extents alone, so do the bits.
struct KeyParts {
  AttentionExtents extents;

  /// Parts of all samples together from which on threads have enough to do.
  static constexpr int64_t kEnough = 8;

  int64_t items() const { return extents.samples * extents.heads_of_keys(); }
  int64_t count() const {
    if (extents.heads_of_keys() == extents.heads) return 1;
    return std::min(extents.queries_of_key(), ceil_div<int64_t>(kEnough, items()));
  }
  /// Returns the heads of a part, counted over all samples.
  Interval heads(int64_t item, int64_t part) const {
    const int64_t first = item * extents.queries_of_key();
    const Interval own = EvenChunks{extents.queries_of_key(), count()}[part];
    return {first + own.begin, first + own.end};
  }
  /// Returns the numel of dk and dv of a head.
  int64_t numel() const { return 2 * extents.key_length() * extents.head_width; }
  /// Returns the numel of the sums of all parts: none if a thread finishes a head alone.
  int64_t sums_numel() const { return count() > 1 ? items() * count() * numel() : 0; }
};

/// A call, without the number of a thread.
template <class T, class C>
struct BackwardCall {
  AttentionExtents extents;
  DropoutSite site;
  const StepInputs& inputs;
  const AttentionGradArrays<T>& arrays;
  KeyParts parts;
  int64_t slice_bytes;
  float* bias_sums;  ///< [samples, heads, diagonals]
  float* key_sums;   ///< [samples, heads of keys, parts, 2, keys, head_width]

  BackwardCall(int threads, const AttentionExtents& of, const DropoutSite& dropout,
               const StepInputs& step, const AttentionGradArrays<T>& all)
      : extents(of),
        site(dropout),
        inputs(step),
        arrays(all),
        parts{of},
        slice_bytes(backward_slice_bytes(of, dtype_of<C>())) {
    auto* const after = static_cast<std::byte*>(arrays.scratch) + threads * slice_bytes;
    bias_sums = reinterpret_cast<float*>(after);
    key_sums = reinterpret_cast<float*>(after + bias_sums_bytes(of));
  }

  BackwardHead<T, C, BiasTerms> work(int64_t item, const BackwardScratch<C>& own) const {
    const Head head(extents, arrays.in.key_counts, item, arrays.in.first);
    const int64_t diagonals = extents.diagonals();
    return {.head = head,
            .arrays = arrays,
            .scratch = own,
            .mask = HeadMask(head, site, inputs),
            .terms = {.bias = head.diagonals(arrays.in.bias),
                      .log2_bias = own.log2_bias,
                      .dbias = extents.biased ? bias_sums + item * diagonals : nullptr,
                      .diagonals = diagonals},
            .dropout = site.probability > 0.0f,
            .scale = 1.0f / extents.divisor(),
            .cap = ScoreCap(extents.cap, extents.divisor())};
  }

  BackwardScratch<C> scratch(int thread) const {
    Slice slice(static_cast<std::byte*>(arrays.scratch) + thread * slice_bytes);
    return BackwardScratch<C>(extents, slice);
  }

  /// Writes dq of the heads of a part, and dk and dv of their keys unless other parts add to them.
  void run_part(int thread, int64_t number) const {
    const Interval heads = parts.heads(number / parts.count(), number % parts.count());
    BackwardScratch<C> own = scratch(thread);
    if (parts.count() > 1) use_sums(number, own);
    begin_keys(work(heads.begin, own));
    for (int64_t head = heads.begin; head < heads.end; ++head) backward_queries(work(head, own));
    if (parts.count() == 1) scatter_keys(work(heads.begin, own));
  }

  /// Adds the parts of a head of keys in their order.
  void add_parts(int thread, int64_t item) const {
    BackwardScratch<C> own = scratch(thread);
    use_sums(item * parts.count(), own);
    for (int64_t part = 1; part < parts.count(); ++part)
      for (int64_t i = 0; i < parts.numel(); ++i) own.dk[i] += own.dk[part * parts.numel() + i];
    scatter_keys(work(parts.heads(item, 0).begin, own));
  }

 private:
  void use_sums(int64_t part, BackwardScratch<C>& own) const {
    own.dk = key_sums + part * parts.numel();
    own.dv = own.dk + parts.numel() / 2;
  }
};

template <class T, class C>
void attend_backward(int threads, const AttentionExtents& extents, const DropoutSite& site,
                     const StepInputs& inputs, const AttentionGradArrays<T>& arrays) {
  const BackwardCall<T, C> call(threads, extents, site, inputs, arrays);
  const KeyParts parts{extents};
  on_threads(threads, parts.items() * parts.count(),
             [&](int thread, int64_t part) { call.run_part(thread, part); });
  if (parts.count() > 1)
    on_threads(threads, parts.items(),
               [&](int thread, int64_t item) { call.add_parts(thread, item); });
  if (extents.biased) add_samples(threads, extents, call.bias_sums, arrays.dbias);
}

}  // namespace

void prepare_backward(const AttentionExtents& extents, Dtype compute) {
  for_tile_shapes(extents, kBackwardKeys, [&](const Tile& tile) {
    const TileSpecs specs(tile, extents.head_width, compute);
    for (const GemmSpec& spec : {specs.scores, specs.keys, specs.queries})
      prepare_host_gemm(spec, 1);
  });
}

int64_t bias_sums_bytes(const AttentionExtents& extents) {
  if (!extents.biased) return 0;
  return extents.samples * extents.heads * extents.diagonals() * int64_t(sizeof(float));
}

int64_t key_sums_bytes(const AttentionExtents& extents) {
  return KeyParts{extents}.sums_numel() * int64_t(sizeof(float));
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
  vendor::require_first_keys(extents, arrays.in.first);
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
