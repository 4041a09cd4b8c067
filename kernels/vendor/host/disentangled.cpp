#include "zero/kernels/disentangled.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/support/host_threads.hpp"
#include "kernels/support/row_chunks.hpp"
#include "kernels/vendor/host/position_terms.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

template <class C>
int64_t slice_bytes(const PositionCall& call, bool backward) {
  Slice slice(nullptr);
  if (backward) {
    GradientScratch<C>(call, slice);
  } else {
    ForwardScratch<C>(call.plain, slice);
    PositionScratch<C>(call, slice);
  }
  return slice.bytes();
}

int64_t slice_bytes(const PositionCall& call, Dtype compute, bool backward) {
  return compute == Dtype::bf16 ? slice_bytes<bf16>(call, backward)
                                : slice_bytes<float>(call, backward);
}

/// Returns the numel of the sums of all groups, for keys and queries.
int64_t sums_numel(const PositionCall& call) {
  return 2 * call.groups() * call.extents.heads * call.head_numel();
}

/// A call in either direction, without its arrays.
struct Pass {
  PositionCall call;
  Diagonals diagonals;
  DropoutSite site;
  const StepInputs* inputs;
  std::byte* slices;  ///< scratch behind the diagonals

  Pass(const DisentangledExtents& extents, const DropoutSite& dropout, const StepInputs* step,
       void* scratch)
      : call(extents),
        diagonals(extents.table, extents.length, static_cast<int32_t*>(scratch)),
        site(dropout),
        inputs(step),
        slices(static_cast<std::byte*>(scratch) + call.diagonal_bytes()) {}

  template <class C>
  HeadPositions<C> positions(const PositionScratch<C>& scratch, const Head& head) const {
    return {&call, &diagonals, scratch, head, call.rows_of(head.rows.keys)};
  }
};

template <class T, class C>
void attend(int threads, const Pass& pass, const DisentangledArrays<T>& arrays) {
  const PositionCall& call = pass.call;
  const int64_t bytes = slice_bytes<C>(call, false);
  on_threads(threads, call.extents.samples * call.extents.heads, [&](int thread, int64_t item) {
    Slice slice(pass.slices + thread * bytes);
    const Head head = call.head(arrays.in.key_counts, item);
    const ForwardScratch<C> own(call.plain, slice);
    const PositionScratch<C> positions(call, slice);
    positions.gather(call, arrays.positions, head.head);
    ForwardHead<T, C, ForwardTerms<C>> work{
        .head = head,
        .arrays = {arrays.in, arrays.y, arrays.logsumexp, arrays.scratch},
        .scratch = own,
        .mask = HeadMask(head, pass.site, *pass.inputs),
        .terms = {pass.positions(positions, head)},
        .dropout = pass.site.probability > 0.0f,
        .log2_scale = kLog2E / call.plain.divisor(),
        .rows = {}};
    attend_head(work);
  });
}

/// Writes the gradients of a head's rows of the table: the sums of all groups in their order, times
/// the scale of scores.
template <class T>
void scatter_positions(const PositionCall& call, int64_t head, float* sums,
                       const PositionRows<T>& dpositions) {
  const StridedRows shape{call.rows, call.extents.head_width, call.extents.inner_width()};
  const int64_t numel = 2 * call.head_numel(), groups = call.groups();
  float* const first = sums + head * groups * numel;
  for (int64_t group = 1; group < groups; ++group)
    for (int64_t i = 0; i < numel; ++i) first[i] += first[group * numel + i];
  const float scale = 1.0f / call.plain.divisor();
  scatter_rows(shape, scale, first, dpositions.keys + head * shape.columns);
  scatter_rows(shape, scale, first + call.head_numel(), dpositions.queries + head * shape.columns);
}

template <class T, class C>
void attend_backward_head(const Pass& pass, const DisentangledGradArrays<T>& arrays,
                          const Head& head, const BackwardTerms<C>& terms) {
  backward_head(BackwardHead<T, C, BackwardTerms<C>>{
      .head = head,
      .arrays = {arrays.in, arrays.dy, arrays.y, arrays.logsumexp, arrays.dq, arrays.dk, arrays.dv,
                 arrays.scratch},
      .scratch = terms.own,
      .mask = HeadMask(head, pass.site, *pass.inputs),
      .terms = terms,
      .dropout = pass.site.probability > 0.0f,
      .scale = 1.0f / pass.call.plain.divisor()});
}

/// An item of work is a head of a group of samples, which add their sums in their order.
template <class T, class C>
void attend_backward(int threads, const Pass& pass, const DisentangledGradArrays<T>& arrays) {
  const PositionCall& call = pass.call;
  const int64_t bytes = slice_bytes<C>(call, true), numel = 2 * call.head_numel();
  auto* const sums = reinterpret_cast<float*>(pass.slices + threads * bytes);
  on_threads(threads, call.extents.heads * call.groups(), [&](int thread, int64_t item) {
    Slice slice(pass.slices + thread * bytes);
    const GradientScratch<C> scratch(call, slice);
    float* const own = sums + item * numel;
    std::fill_n(own, numel, 0.0f);
    const int64_t of = item / call.groups();
    scratch.positions.gather(call, arrays.positions, of);
    const Interval samples = EvenChunks{call.extents.samples, call.groups()}[item % call.groups()];
    for (int64_t sample = samples.begin; sample < samples.end; ++sample) {
      const Head head = call.head(arrays.in.key_counts, sample * call.extents.heads + of);
      attend_backward_head(
          pass, arrays, head,
          BackwardTerms<C>{pass.positions(scratch.positions, head), scratch.own, scratch.spread,
                           scratch.by_query, scratch.by_key, own, own + call.head_numel()});
    }
  });
  on_threads(threads, call.extents.heads,
             [&](int, int64_t head) { scatter_positions(call, head, sums, arrays.dpositions); });
}

/// Makes the products of all tiles of heads of `length` tokens.
void prepare_length(const PositionCall& call, int64_t length, Dtype compute, bool backward) {
  const int64_t d = call.extents.head_width, rows = call.rows_of(length).count;
  for_tiles({length, length, false}, backward ? kBackwardKeys : kForwardKeys,
            [&](const Tile& tile) {
              if (!backward) {
                prepare_host_gemm(scores_spec(tile, d, compute), 1);
                prepare_host_gemm(values_spec(tile, d, compute), 1);
                return;
              }
              const TileSpecs specs(tile, d, compute);
              for (const GemmSpec& spec : {specs.scores, specs.keys, specs.queries})
                prepare_host_gemm(spec, 1);
            });
  const auto prepare_positions = [&](int64_t count, int64_t tokens_pitch) {
    const PositionSpecs specs(call, count, rows, tokens_pitch, compute);
    prepare_host_gemm(specs.terms, 1);
    if (!backward) return;
    prepare_host_gemm(specs.tokens, 1);
    prepare_host_gemm(specs.positions, 1);
  };
  prepare_positions(length, call.tokens());
  for (int64_t query = 0; query < length; query += kQueries)
    prepare_positions(std::min(kQueries, length - query), kQueries);
}

}  // namespace
}  // namespace vendor

int64_t disentangled_scratch_bytes(const DisentangledExtents& extents, Dtype dtype, int threads) {
  const vendor::PositionCall call(extents);
  const Dtype compute = vendor::compute_dtype(dtype);
  const int64_t forward = vendor::slice_bytes(call, compute, false);
  const int64_t backward = vendor::slice_bytes(call, compute, true);
  return call.diagonal_bytes() + threads * std::max(forward, backward) +
         vendor::sums_numel(call) * int64_t(sizeof(float));
}

void prepare_disentangled(const DisentangledExtents& extents, Dtype dtype, bool backward) {
  const vendor::PositionCall call(extents);
  const Dtype compute = vendor::compute_dtype(dtype);
  vendor::for_score_rows(call.plain, [&](const vendor::ScoreRows& rows) {
    vendor::prepare_length(call, rows.keys, compute, backward);
  });
}

template <class T>
void disentangled_attention(Stream& stream, const DisentangledExtents& extents,
                            const DropoutSite& site, const StepInputs* inputs,
                            const DisentangledArrays<T>& arrays) {
  vendor::check_attention(extents.plain(), site, arrays.in);
  const vendor::Pass pass(extents, site, inputs, arrays.scratch);
  if constexpr (std::is_same_v<T, bf16>) {
    if (vendor::multiplies(Dtype::bf16))
      return vendor::attend<T, bf16>(stream.threads(), pass, arrays);
  }
  vendor::attend<T, float>(stream.threads(), pass, arrays);
}

template <class T>
void disentangled_attention_backward(Stream& stream, const DisentangledExtents& extents,
                                     const DropoutSite& site, const StepInputs* inputs,
                                     const DisentangledGradArrays<T>& arrays) {
  vendor::check_attention(extents.plain(), site, arrays.in);
  const vendor::Pass pass(extents, site, inputs, arrays.scratch);
  if constexpr (std::is_same_v<T, bf16>) {
    if (vendor::multiplies(Dtype::bf16))
      return vendor::attend_backward<T, bf16>(stream.threads(), pass, arrays);
  }
  vendor::attend_backward<T, float>(stream.threads(), pass, arrays);
}

template void disentangled_attention(Stream&, const DisentangledExtents&, const DropoutSite&,
                                     const StepInputs*, const DisentangledArrays<float>&);
template void disentangled_attention(Stream&, const DisentangledExtents&, const DropoutSite&,
                                     const StepInputs*, const DisentangledArrays<bf16>&);
template void disentangled_attention(Stream&, const DisentangledExtents&, const DropoutSite&,
                                     const StepInputs*, const DisentangledArrays<f16>&);
template void disentangled_attention_backward(Stream&, const DisentangledExtents&,
                                              const DropoutSite&, const StepInputs*,
                                              const DisentangledGradArrays<float>&);
template void disentangled_attention_backward(Stream&, const DisentangledExtents&,
                                              const DropoutSite&, const StepInputs*,
                                              const DisentangledGradArrays<bf16>&);
template void disentangled_attention_backward(Stream&, const DisentangledExtents&,
                                              const DropoutSite&, const StepInputs*,
                                              const DisentangledGradArrays<f16>&);

}  // namespace zero::kernels
