#include "zero/kernels/dropout.hpp"

#include "kernels/support/elements.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kDropout = "zero::dropout", kCopy = "zero::dropout_off";

constexpr int64_t kSamples = -1;  ///< in place of a table's first row

/// Elements of one work item. Its random words wait in a buffer, so drawing and applying are two
/// loops that vectorise.
constexpr int64_t kPiece = kHostSpace ? 1024 : 4;

/// A piece of one sample, [begin, begin + count) from the arrays' start.
struct Piece {
  int64_t sample;
  uint32_t first_block;
  int64_t begin;
  int64_t count;
};

template <class T>
struct Dropout {
  DropoutSite site;
  DropoutExtents extents;
  const StepInputs* inputs;
  const T* x;
  const T* residual;
  T* out;
  int64_t first_row = kSamples;  ///< otherwise x has rows of a table in place of samples

  KOKKOS_FUNCTION int64_t pieces_per_sample() const {
    return ceil_div(extents.numel_per_sample, kPiece);
  }

  KOKKOS_FUNCTION Piece piece_at(int64_t index) const {
    const int64_t sample = index / pieces_per_sample();
    const int64_t within = index % pieces_per_sample() * kPiece;
    return {.sample = sample,
            .first_block = uint32_t(within / 4),
            .begin = sample * extents.numel_per_sample + within,
            .count = least(kPiece, extents.numel_per_sample - within)};
  }

  KOKKOS_FUNCTION void operator()(int64_t index, int64_t) const {
    const Piece piece = piece_at(index);
    uint32_t word[kPiece];
    draw(piece, word);
    const uint32_t threshold = dropout_threshold(site.probability);
    const float scale = 1.0f / (1.0f - site.probability);
    const T* const from = x + piece.begin;
    T* const to = out + piece.begin;
    const auto kept = [=, &word](int64_t i) {
      return word[i] >= threshold ? float(from[i]) * scale : 0.0f;
    };
    if (residual == nullptr) {
#pragma GCC ivdep
      for (int64_t i = 0; i < piece.count; ++i) to[i] = T(kept(i));
    } else {
      const T* const add = residual + piece.begin;
#pragma GCC ivdep
      for (int64_t i = 0; i < piece.count; ++i) to[i] = T(kept(i) + float(add[i]));
    }
  }

  KOKKOS_INLINE_FUNCTION void draw(const Piece& piece, uint32_t* word) const {
    const uint64_t seed = inputs->seed;
    const bool is_table = first_row != kSamples;
    const int64_t sample =
        inputs->first_sample + (is_table ? 0 : site.sample_offset + piece.sample);
    const int64_t blocks_before =
        is_table ? (first_row + piece.sample) * ceil_div(extents.numel_per_sample, int64_t(4)) : 0;
    const uint32_t name = site.site, first = uint32_t(blocks_before) + piece.first_block;
#pragma GCC ivdep
    for (uint32_t b = 0; b < uint32_t(kPiece / 4); ++b) {
      const PhiloxBlock words = dropout_words(seed, name, sample, first + b);
      for (int k = 0; k < 4; ++k) word[4 * b + k] = words.word[k];
    }
  }
};

template <class T>
void copy_or_add(Stream& stream, int64_t numel, const Mapped<T, T, T>& a) {
  if (a.y == nullptr) {
    for_each_element(
        stream, kCopy, numel, KOKKOS_LAMBDA(int64_t i) { a.out[i] = a.x[i]; });
  } else {
    map_elements(
        stream, kCopy, numel, a,
        KOKKOS_LAMBDA(float value, float residual) { return value + residual; });
  }
}

template <class T>
void run(Stream& stream, const Dropout<T>& work) {
  const float probability = work.site.probability;
  ZERO_REQUIRE(probability >= 0.0f && probability < 1.0f, "dropout with probability ", probability,
               ": at least 0 and below 1");
  const DropoutExtents& extents = work.extents;
  if (probability == 0.0f) {
    const int64_t numel = extents.samples * extents.numel_per_sample;
    return copy_or_add(stream, numel, Mapped<T, T, T>{work.x, work.residual, work.out});
  }
  for_each_piece<1>(stream, kDropout, {0, extents.samples * work.pieces_per_sample()}, work);
}

}  // namespace

template <class T>
void dropout_add(Stream& stream, const DropoutSite& site, const DropoutExtents& extents,
                 const StepInputs* inputs, const T* x, const T* residual, T* out) {
  run<T>(stream, {site, extents, inputs, x, residual, out});
}

template <class T>
void drop_rows(Stream& stream, const DropoutSite& site, const TableRows& rows,
               const StepInputs* inputs, const T* x, T* out) {
  ZERO_REQUIRE(rows.first >= 0, "dropout from row ", rows.first, " of a table on");
  run<T>(stream, {site, {rows.count, rows.width}, inputs, x, nullptr, out, rows.first});
}

template void dropout_add(Stream&, const DropoutSite&, const DropoutExtents&, const StepInputs*,
                          const float*, const float*, float*);
template void dropout_add(Stream&, const DropoutSite&, const DropoutExtents&, const StepInputs*,
                          const bf16*, const bf16*, bf16*);
template void dropout_add(Stream&, const DropoutSite&, const DropoutExtents&, const StepInputs*,
                          const f16*, const f16*, f16*);
template void drop_rows(Stream&, const DropoutSite&, const TableRows&, const StepInputs*,
                        const float*, float*);
template void drop_rows(Stream&, const DropoutSite&, const TableRows&, const StepInputs*,
                        const bf16*, bf16*);
template void drop_rows(Stream&, const DropoutSite&, const TableRows&, const StepInputs*,
                        const f16*, f16*);

}  // namespace zero::kernels
