// Sums on the device: column_sum() over the rows of a matrix, stacked_sum() over stacked arrays.

#include <algorithm>

#include "kernels/support/chunk_sums.hpp"
#include "kernels/support/row_sums.hpp"
#include "kernels/vendor/row_kernels.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::kernels {
namespace {

const std::string kPartial = "zero::column_sum";
const std::string kTree = "zero::column_sum_tree";
constexpr int kTreeThreads = 256;  ///< threads of a team of a GPU

/// The chunks' sums on the host: each work item has a strip of columns.
template <class T>
struct PartialSums {
  static constexpr int64_t kColumns = 512;  ///< columns of a work item; their sums stay in L1
  StridedRows<T> of;
  float* partial;  ///< [chunks, columns]

  KOKKOS_FUNCTION int64_t strips() const { return ceil_div(of.columns, kColumns); }

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t item) const {
    const int64_t chunk = item / strips(), first = item % strips() * kColumns;
    const int64_t count = least(kColumns, of.columns - first), ld = of.ld;
    const Interval rows = RowChunks{of.rows}[chunk];
    float* const sum = partial + chunk * of.columns + first;
    row.for_each(count, [=](int64_t j) { sum[j] = 0.0f; });
    // Four rows at a time take a quarter of the traffic on the sums.
    int64_t i = rows.begin;
    for (; i + 4 <= rows.end; i += 4) {
      const T* const r = of.x + i * ld + first;
      row.for_each(count, [=](int64_t j) {
        sum[j] += (float(r[j]) + float(r[j + ld])) + (float(r[j + 2 * ld]) + float(r[j + 3 * ld]));
      });
    }
    for (; i < rows.end; ++i) {
      const T* const r = of.x + i * ld + first;
      row.for_each(count, [=](int64_t j) { sum[j] += float(r[j]); });
    }
  }
};

const std::string kStackedSum = "zero::stacked_sum";

template <class T, class Out>
struct TreeOfElements {
  Stack stack;
  const T* first;
  Out* out;
  bool add;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    float sum[kMaxTreeSources];
    sum[0] = float(first[i]);
    for (int r = 1; r < stack.sources; ++r) sum[r] = float(first[r * stack.stride + i]);
    for (int step = 1; step < stack.sources; step *= 2)
      for (int r = 0; r + step < stack.sources; r += 2 * step) sum[r] += sum[r + step];
    out[i] = Out(add ? float(out[i]) + sum[0] : sum[0]);
  }
};

/// The tree of TreeOfElements on a GPU, in registers. An array indexed by a variable would lie in
/// memory.
template <class T, class Out, int kMost>
struct TreeInRegisters {
  TreeOfElements<T, Out> of;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const float sum = tree_of<kMost>(of.first + i, of.stack.stride, of.stack.sources);
    of.out[i] = Out(of.add ? float(of.out[i]) + sum : sum);
  }
};

/// Returns the number of chunks whose sums it writes.
template <class T>
int64_t add_chunks(Stream& stream, const StridedRows<T>& of, float* scratch) {
  using Tiles = ColumnTiles<T>;
  if constexpr (!kHostSpace) {
    if (Tiles::takes(of.columns, of.x, scratch)) {
      const Tiles tiles{Tiles::chunks_of(of.rows, of.columns), of.columns, of.x, scratch};
      vendor::add_column_tiles(stream, tiles);
      return tiles.chunks.count;
    }
  }
  add_row_chunks(stream, of, scratch);
  return RowChunks{of.rows}.count();
}

}  // namespace

int order_of_sums() { return kHostSpace ? 1 : 3; }

int64_t column_sum_scratch_numel(int64_t rows, int64_t columns) {
  const int64_t chunks = RowChunks{rows}.count();
  if (kHostSpace) return chunks * columns;
  return std::max(chunks, ColumnTiles<float>::chunks_of(rows, columns).count) * columns;
}

template <class T>
void add_row_chunks(Stream& stream, const StridedRows<T>& x, float* partial) {
  if constexpr (kHostSpace) {
    const PartialSums<T> sums{x, partial};
    for_each_row(stream, kPartial, RowChunks{x.rows}.count() * sums.strips(), sums);
  } else {
    const ColumnChunks<T> sums{x, partial};
    launch(kPartial, items(stream, sums.items()), sums);
  }
}

template void add_row_chunks(Stream&, const StridedRows<float>&, float*);
template void add_row_chunks(Stream&, const StridedRows<bf16>&, float*);
template void add_row_chunks(Stream&, const StridedRows<f16>&, float*);

template <class T>
void add_chunk_sums(Stream& stream, int64_t chunks, int64_t columns, float* partial, T* out) {
  const ColumnTree<T> tree{chunks, columns, columns, partial, out};
  for_each_row(stream, kTree, tree.groups(), tree, kTreeThreads);
}

template void add_chunk_sums(Stream&, int64_t, int64_t, float*, float*);
template void add_chunk_sums(Stream&, int64_t, int64_t, float*, bf16*);
template void add_chunk_sums(Stream&, int64_t, int64_t, float*, f16*);

template <class T>
void column_sum(Stream& stream, int64_t rows, int64_t columns, const T* x, T* sum, float* scratch) {
  ZERO_REQUIRE(rows > 0 && columns > 0, "column sum of ", rows, " x ", columns,
               ": both must be at least 1");
  const int64_t chunks = add_chunks<T>(stream, {rows, columns, columns, x}, scratch);
  add_chunk_sums(stream, chunks, columns, scratch, sum);
}

template void column_sum(Stream&, int64_t, int64_t, const float*, float*, float*);
template void column_sum(Stream&, int64_t, int64_t, const bf16*, bf16*, float*);
template void column_sum(Stream&, int64_t, int64_t, const f16*, f16*, float*);

template <class T, class Out>
void stacked_sum(Stream& stream, const Stack& stack, int64_t numel, const T* first, Out* out,
                 bool add) {
  ZERO_REQUIRE(stack.sources >= 1 && stack.sources <= kMaxTreeSources, "sum of ", stack.sources,
               " sources: 1 to ", kMaxTreeSources);
  ZERO_REQUIRE(!add || dtype_of<Out>() == Dtype::f32, "adding to ", name_of(dtype_of<Out>()),
               ": only fp32 can be added to");
  const TreeOfElements<T, Out> tree{stack, first, out, add};
  constexpr int kFew = 8;
  if constexpr (kHostSpace)
    for_each_element(stream, kStackedSum, numel, tree);
  else if (stack.sources <= kFew)
    for_each_element(stream, kStackedSum, numel, TreeInRegisters<T, Out, kFew>{tree});
  else
    for_each_element(stream, kStackedSum, numel, TreeInRegisters<T, Out, kMaxTreeSources>{tree});
}

template <class Out>
void stacked_sum_of_groups(Stream& stream, float* sums, int groups, int64_t numel, Out* out,
                           bool add) {
  while (groups > kMaxTreeSources) {
    float* const next = sums + groups * numel;
    for (int first = 0; first < groups; first += kMaxTreeSources) {
      stacked_sum<float, float>(stream, {std::min(kMaxTreeSources, groups - first), numel}, numel,
                                sums + first * numel, next + first / kMaxTreeSources * numel,
                                false);
    }
    sums = next;
    groups = groups_of(groups);
  }
  stacked_sum<float, Out>(stream, {groups, numel}, numel, sums, out, add);
}

template void stacked_sum_of_groups(Stream&, float*, int, int64_t, float*, bool);
template void stacked_sum_of_groups(Stream&, float*, int, int64_t, bf16*, bool);
template void stacked_sum_of_groups(Stream&, float*, int, int64_t, f16*, bool);

template void stacked_sum(Stream&, const Stack&, int64_t, const float*, float*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const float*, bf16*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const float*, f16*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const bf16*, float*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const f16*, float*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const bf16*, bf16*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const f16*, f16*, bool);

}  // namespace zero::kernels
