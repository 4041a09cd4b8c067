#include "zero/kernels/embedding.hpp"

#include "kernels/support/row_sums.hpp"
#include "kernels/support/rows.hpp"
#include "kernels/support/token_chains.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/gradients.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::embedding", kForwardAt = "zero::embedding_at",
                  kClear = "zero::embedding_clear", kMark = "zero::embedding_mark",
                  kChain = "zero::embedding_chain", kTokens = "zero::embedding_dtokens",
                  kPositions = "zero::embedding_dpositions";

/// Columns that one thread sums at a time, in registers or the first-level cache.
constexpr int64_t kColumns = kHostSpace ? 256 : 4;

/// Returns the int32 elements for all tokens: one each on the host, segment bits on a GPU.
int64_t numel_of_tokens(const EmbeddingExtents& extents) {
  return extents.vocabulary * (kHostSpace ? 1 : TokenSegments::kWords);
}

Chains chains_of(const EmbeddingExtents& extents, int32_t* scratch) {
  int32_t* const next = scratch + numel_of_tokens(extents);
  return {.last = scratch, .next = next, .first = next + extents.samples * extents.length};
}

template <class T>
struct Forward {
  EmbeddingExtents extents;
  const DecodeInputs* inputs;  ///< null: samples are embedded from their start
  const ChunkRow* rows;
  EmbeddingTables<T> tables;
  T* x;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    const int64_t width = extents.width;
    T* const to = x + r * width;
    if (inputs != nullptr && r >= inputs->rows) {
      return row.for_each(width, [=](int64_t j) { to[j] = T(0.0f); });
    }
    const int64_t at = inputs != nullptr ? rows[r].position : r % extents.length;
    const float scale = extents.scale;
    const T* const token = tables.token_table + tables.tokens[r] * width;
    if (tables.position_table == nullptr) {
      return row.write(width, to, [=](int64_t j) { return scale * float(token[j]); });
    }
    const T* const position = tables.position_table + at * width;
    row.write(width, to,
              [=](int64_t j) { return std::fma(scale, float(token[j]), float(position[j])); });
  }
};

/// A loop that links all rows, on one thread of the host.
struct Link {
  int64_t rows;
  const int32_t* tokens;
  Chains chains;

  KOKKOS_FUNCTION void operator()() const {
    const Chains c = chains;
    for (int64_t r = 0; r < rows; ++r) {
      const int32_t token = tokens[r];
      const int32_t before = c.last[token];
      if (before >= 0) c.next[before] = int32_t(r);
      c.first[r] = before < 0;
      c.next[r] = -1;
      c.last[token] = int32_t(r);
    }
  }
};

void link_rows(Stream& stream, const EmbeddingExtents& extents, const int32_t* tokens,
               const Chains& chains) {
  const int64_t rows = extents.samples * extents.length;
  int32_t* const last = chains.last;
  int32_t* const first = chains.first;
  if constexpr (kHostSpace) {
    for_each_element(
        stream, kClear, extents.vocabulary, KOKKOS_LAMBDA(int64_t i) { last[i] = -1; });
    const Link link{rows, tokens, chains};
    for_each_element(
        stream, kChain, 1, KOKKOS_LAMBDA(int64_t) { link(); });
  } else {
    clear_bytes(stream, numel_of_tokens(extents) * int64_t(sizeof(int32_t)), last);
    for_each_element(
        stream, kClear, rows, KOKKOS_LAMBDA(int64_t r) { first[r] = 1; });
    const TokenSegments segments{rows, tokens, reinterpret_cast<uint32_t*>(last)};
    for_each_element(stream, kMark, rows, MarkSegments{segments});
    for_each_element(stream, kChain, rows, LinkRow{segments, chains});
  }
}

/// Writes sum[j] = the fp32 sum of dx[r][column + j] over rows r = first, next_of(first), ... until
/// -1.
template <class T, class Next>
KOKKOS_INLINE_FUNCTION void sum_rows(const T* dx, int64_t width, int64_t first, const Next& next_of,
                                     int64_t count, float* sum) {
  if constexpr (kHostSpace) {
    for (int64_t j = 0; j < count; ++j) sum[j] = 0;
    for (int64_t r = first; r >= 0; r = next_of(r)) {
      const T* const from = dx + r * width;
#pragma GCC ivdep
      for (int64_t j = 0; j < count; ++j) sum[j] += float(from[j]);
    }
  } else {
    sum_rows_at_once<kColumns>(dx, width, first, next_of, count, sum);
  }
}

template <class T>
struct TokenGradient {
  int64_t width;
  float scale;
  int64_t still;
  EmbeddingGradArrays<T> arrays;
  Chains chains;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    if (chains.first[r] == 0 || arrays.tokens[r] == still) return;
    const int32_t* const next = chains.next;
    const T* const dx = arrays.dx;
    T* const table = arrays.dtoken_table + arrays.tokens[r] * width;
    const int64_t columns = width;
    const float factor = scale;
    row.for_each(ceil_div(columns, kColumns), [=](int64_t group) {
      const int64_t begin = group * kColumns, count = least(kColumns, columns - begin);
      float sum[kColumns];
      sum_rows(
          dx + begin, columns, r, [=](int64_t at) { return int64_t(next[at]); }, count, sum);
      T* const to = table + begin;
      for (int64_t j = 0; j < count; ++j) to[j] = T(std::fma(factor, sum[j], float(to[j])));
    });
  }
};

template <class T>
void token_gradient(Stream& stream, const EmbeddingExtents& extents,
                    const EmbeddingGradArrays<T>& arrays) {
  const Chains chains = chains_of(extents, arrays.scratch);
  link_rows(stream, extents, arrays.tokens, chains);
  if (arrays.first) {
    const int64_t bytes = extents.vocabulary * extents.width * int64_t(sizeof(T));
    clear_bytes(stream, bytes, arrays.dtoken_table);
  }
  for_each_row(stream, kTokens, extents.samples * extents.length,
               TokenGradient<T>{extents.width, extents.scale, extents.still, arrays, chains});
}

template <class T>
struct PositionGradient {
  EmbeddingExtents extents;
  EmbeddingGradArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t position) const {
    const int64_t length = extents.length, rows = extents.samples * length, width = extents.width;
    const T* const dx = arrays.dx;
    T* const table = arrays.dposition_table + position * width;
    row.for_each(ceil_div(width, kColumns), [=](int64_t group) {
      const int64_t begin = group * kColumns, count = least(kColumns, width - begin);
      float sum[kColumns];
      sum_rows(
          dx + begin, width, position,
          [=](int64_t at) { return at + length < rows ? at + length : -1; }, count, sum);
      T* const to = table + begin;
      for (int64_t j = 0; j < count; ++j) to[j] = T(sum[j]);
    });
  }
};

}  // namespace

template <class T>
void embedding(Stream& stream, const EmbeddingExtents& extents, const int32_t* tokens,
               const T* token_table, const T* position_table, T* x) {
  for_each_row(stream, kForward, extents.samples * extents.length,
               Forward<T>{extents, nullptr, nullptr, {tokens, token_table, position_table}, x});
}

template <class T>
void embedding_at(Stream& stream, const EmbeddingExtents& extents, const DecodeInputs* inputs,
                  const ChunkRow* rows, const EmbeddingTables<T>& tables, T* x) {
  for_each_row(stream, kForwardAt, extents.length, Forward<T>{extents, inputs, rows, tables, x});
}

int64_t embedding_scratch_numel(const EmbeddingExtents& extents) {
  return numel_of_tokens(extents) + 2 * extents.samples * extents.length;
}

template <class T>
void embedding_backward(Stream& stream, const EmbeddingExtents& extents,
                        const EmbeddingGradArrays<T>& arrays) {
  const int64_t rows = extents.samples * extents.length;
  ZERO_REQUIRE(rows <= INT32_MAX, "embedding gradient over ", rows, " rows: at most 2^31 - 1");
  if (arrays.dtoken_table != nullptr) token_gradient(stream, extents, arrays);
  if (arrays.dposition_table == nullptr) return;
  for_each_row(stream, kPositions, extents.length, PositionGradient<T>{extents, arrays});
}

template void embedding(Stream&, const EmbeddingExtents&, const int32_t*, const float*,
                        const float*, float*);
template void embedding(Stream&, const EmbeddingExtents&, const int32_t*, const bf16*, const bf16*,
                        bf16*);
template void embedding(Stream&, const EmbeddingExtents&, const int32_t*, const f16*, const f16*,
                        f16*);
template void embedding_at(Stream&, const EmbeddingExtents&, const DecodeInputs*, const ChunkRow*,
                           const EmbeddingTables<float>&, float*);
template void embedding_at(Stream&, const EmbeddingExtents&, const DecodeInputs*, const ChunkRow*,
                           const EmbeddingTables<bf16>&, bf16*);
template void embedding_at(Stream&, const EmbeddingExtents&, const DecodeInputs*, const ChunkRow*,
                           const EmbeddingTables<f16>&, f16*);
template void embedding_backward(Stream&, const EmbeddingExtents&,
                                 const EmbeddingGradArrays<float>&);
template void embedding_backward(Stream&, const EmbeddingExtents&,
                                 const EmbeddingGradArrays<bf16>&);
template void embedding_backward(Stream&, const EmbeddingExtents&, const EmbeddingGradArrays<f16>&);

}  // namespace zero::kernels
