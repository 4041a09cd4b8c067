#include <algorithm>

#include "kernels/support/host_threads.hpp"
#include "kernels/vendor/host/panel.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

using vendor::kPanelColumns;
using vendor::kPanelRows;

static_assert(WeightPanels::kColumns == kPanelColumns);

template <class T>
struct Work {
  RowProductExtents extents;
  RowProductArrays<T> arrays;
  WeightPanels panels{extents.in, extents.out};
};

/// Widens rows from kRows * tile on to fp32, turned: [in, kRows]. The last row stands in for
/// missing ones.
template <int64_t kRows, class T>
void widen_tile(const Work<T>& work, int64_t tile) {
  const int64_t in = work.extents.in;
  const T* from[kRows];
  for (int64_t r = 0; r < kRows; ++r)
    from[r] = work.arrays.x + std::min(tile * kRows + r, work.extents.rows - 1) * in;
  float* const to = work.arrays.scratch + tile * in * kRows;
  for (int64_t i = 0; i < in; ++i)
    for (int64_t r = 0; r < kRows; ++r) to[i * kRows + r] = float(from[r][i]);
}

/// Tiles whose sums stay in a near cache.
constexpr int64_t kTiles = 16;

/// Writes y[r, j] of a tile's rows and a panel's columns.
template <int64_t kRows, class T>
void write_tile(const Work<T>& work, int64_t tile, int64_t panel, const float* sums) {
  const int64_t columns = work.panels.columns(panel);
  const int64_t rows = std::min(kRows, work.extents.rows - tile * kRows);
  float bias[kPanelColumns] = {};
  for (int64_t j = 0; work.arrays.bias != nullptr && j < columns; ++j)
    bias[j] = float(work.arrays.bias[panel * kPanelColumns + j]);
  for (int64_t r = 0; r < rows; ++r) {
    T* const y = work.arrays.y + (tile * kRows + r) * work.extents.out + panel * kPanelColumns;
    for (int64_t j = 0; j < columns; ++j) y[j] = T(bias[j] + sums[r * kPanelColumns + j]);
  }
}

template <int64_t kRows, class T>
void multiply_tiles(const Work<T>& work, int64_t first, int64_t count, int64_t panel) {
  const int64_t in = work.extents.in, columns = work.panels.columns(panel);
  float sums[kTiles * kRows * kPanelColumns];
  vendor::multiply_panel<kRows, T>(
      {work.arrays.weight + work.panels.begin(panel), in, columns, columns}, count,
      work.arrays.scratch + first * in * kRows, sums);
  for (int64_t t = 0; t < count; ++t)
    write_tile<kRows>(work, first + t, panel, sums + t * kRows * kPanelColumns);
}

template <int64_t kRows, class T>
void multiply(Stream& stream, const Work<T>& work) {
  const int64_t tiles = ceil_div(work.extents.rows, kRows);
  on_threads(stream.threads(), tiles, [&](int, int64_t tile) { widen_tile<kRows>(work, tile); });
  on_threads(stream.threads(), work.panels.count(), [&](int, int64_t panel) {
    for (int64_t tile = 0; tile < tiles; tile += kTiles)
      multiply_tiles<kRows>(work, tile, std::min(kTiles, tiles - tile), panel);
  });
}

/// Classes that a thread takes at a time, 192 KiB of a table of 768 columns in bf16. Rows of x
/// beside them, which stay near.
constexpr int64_t kClasses = 128, kLogitRows = 8;

template <class T>
struct TableWork {
  int64_t classes, width;
  TableProductArrays<T> arrays;

  const T* row(int64_t i) const { return arrays.x + arrays.rows[i] * width; }
  const T* of_class(int64_t c) const { return arrays.table + c * width; }
  float* out(int64_t i, int64_t c) const { return arrays.y + i * classes + c; }
};

struct Span {
  int64_t begin, end;
};

/// Classes that are fetched ahead, one for each call of dots().
constexpr int64_t kAhead = 8;
static_assert(kLogitRows == vendor::kDotClasses * vendor::kDotRows);

/// Writes the scores of some classes for some rows, several at a time if possible.
template <class T>
void multiply_classes(const TableWork<T>& work, const Span& classes, const Span& rows) {
  using vendor::kDotClasses, vendor::kDotRows;
  const bool whole = work.width % kPanelColumns == 0;
  for (int64_t c = classes.begin; c < classes.end; c += kDotClasses) {
    for (int64_t i = rows.begin; i < rows.end; i += kDotRows) {
      const int64_t count = std::min(kDotRows, rows.end - i);
      if (whole && count > 1 && c + kDotClasses <= classes.end) {
        // The last row stands in for missing ones.
        const T* x[kDotRows];
        for (int64_t r = 0; r < kDotRows; ++r) x[r] = work.row(std::min(i + r, rows.end - 1));
        const T* const ahead = work.of_class(std::min(c + kAhead, classes.end - kDotClasses) +
                                             (i - rows.begin) / kDotRows);
        float sums[kDotRows * kDotClasses];
        vendor::dots(work.width, x, work.of_class(c), ahead, sums);
        for (int64_t r = 0; r < count; ++r)
          std::copy_n(sums + r * kDotClasses, kDotClasses, work.out(i + r, c));
        continue;
      }
      for (int64_t r = i; r < i + count; ++r)
        for (int64_t j = c; j < std::min(classes.end, c + kDotClasses); ++j)
          *work.out(r, j) = vendor::dot(work.width, work.row(r), work.of_class(j));
    }
  }
}

}  // namespace

int64_t row_product_scratch_numel(const RowProductExtents& extents) {
  return extents.in * (extents.rows == 1 ? 1 : round_up(extents.rows, kPanelRows));
}

template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.in > 0 && extents.out > 0, "product of ", extents.rows,
               " rows with ", extents.in, " x ", extents.out, ": every extent must be at least 1");
  const Work<T> work{extents, arrays};
  if (extents.rows == 1)
    multiply<1>(stream, work);
  else
    multiply<kPanelRows>(stream, work);
}

template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays) {
  ZERO_REQUIRE(classes > 0 && width > 0, "product with a table of ", classes, " x ", width,
               ": both must be at least 1");
  on_threads(stream.threads(), ceil_div(classes, kClasses), [&](int, int64_t block) {
    const int64_t begin = block * kClasses, end = std::min(classes, begin + kClasses);
    for (int64_t i = 0; i < inputs->logits; i += kLogitRows)
      multiply_classes(TableWork<T>{classes, width, arrays}, {begin, end},
                       {i, std::min(inputs->logits, i + kLogitRows)});
  });
}

template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<float>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<bf16>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<f16>&);
template void table_product(Stream&, int64_t, int64_t, const DecodeInputs*,
                            const TableProductArrays<float>&);
template void table_product(Stream&, int64_t, int64_t, const DecodeInputs*,
                            const TableProductArrays<bf16>&);
template void table_product(Stream&, int64_t, int64_t, const DecodeInputs*,
                            const TableProductArrays<f16>&);

}  // namespace zero::kernels
