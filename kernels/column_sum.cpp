#include "kernels/support/row_sums.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

const std::string kPartial = "zero::column_sum";
const std::string kTree = "zero::column_sum_tree";

/// The chunks' sums on the host: a work item has a strip of columns.
template <class T>
struct PartialSums {
  static constexpr int64_t kColumns = 512;  ///< of one work item: its sums stay in the L1 cache
  RowChunks chunks;
  int64_t columns;
  const T* x;
  float* partial;  ///< [chunks, columns]

  KOKKOS_FUNCTION int64_t strips() const { return ceil_div(columns, kColumns); }

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t item) const {
    const int64_t chunk = item / strips(), first = item % strips() * kColumns;
    const int64_t count = least(kColumns, columns - first), ld = columns;
    const Interval rows = chunks[chunk];
    float* const sum = partial + chunk * columns + first;
    row.for_each(count, [=](int64_t j) { sum[j] = 0.0f; });
    // Four rows at a time: a quarter of the traffic on the sums.
    int64_t i = rows.begin;
    for (; i + 4 <= rows.end; i += 4) {
      const T* const r = x + i * columns + first;
      row.for_each(count, [=](int64_t j) {
        sum[j] += (float(r[j]) + float(r[j + ld])) + (float(r[j + 2 * ld]) + float(r[j + 3 * ld]));
      });
    }
    for (; i < rows.end; ++i) {
      const T* const r = x + i * columns + first;
      row.for_each(count, [=](int64_t j) { sum[j] += float(r[j]); });
    }
  }
};

}  // namespace

int order_of_sums() { return kHostSpace ? 1 : 2; }

int64_t column_sum_scratch_numel(int64_t rows, int64_t columns) {
  return RowChunks{rows}.count() * columns;
}

template <class T>
void column_sum(Stream& stream, int64_t rows, int64_t columns, const T* x, T* sum, float* scratch) {
  ZERO_REQUIRE(rows > 0 && columns > 0, "column sum of ", rows, " x ", columns,
               ": both must be at least 1");
  const RowChunks chunks{rows};
  if constexpr (kHostSpace) {
    const PartialSums<T> partial{chunks, columns, x, scratch};
    for_each_row(stream, kPartial, chunks.count() * partial.strips(), partial);
  } else {
    const ColumnChunks<T> partial{chunks, columns, x, scratch};
    launch(kPartial, items(stream, partial.items()), partial);
  }
  const ColumnTree<T> tree{chunks.count(), columns, columns, scratch, sum};
  for_each_row(stream, kTree, tree.groups(), tree);
}

template void column_sum(Stream&, int64_t, int64_t, const float*, float*, float*);
template void column_sum(Stream&, int64_t, int64_t, const bf16*, bf16*, float*);
template void column_sum(Stream&, int64_t, int64_t, const f16*, f16*, float*);

}  // namespace zero::kernels
