#include "zero/kernels/sample_rows.hpp"

#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kNeighbours = "zero::neighbour_rows";
const std::string kNeighboursGrad = "zero::neighbour_rows_backward";
const std::string kClear = "zero::clear_padding";
const std::string kTake = "zero::take_rows";
const std::string kTakeGrad = "zero::take_rows_backward";

void check(const SampleRows& rows) {
  ZERO_REQUIRE(rows.samples > 0 && rows.length > 0 && rows.width > 0, rows.samples, " samples of ",
               rows.length, " rows of ", rows.width, ": all must be at least 1");
}

void check(const SampleRows& rows, const RowsTaken& taken) {
  check(rows);
  ZERO_REQUIRE(taken.first >= 0 && taken.count > 0 && taken.first + taken.count <= rows.length,
               "rows ", taken.first, " to ", taken.first + taken.count, " of samples of ",
               rows.length);
}

/// Writes row r of `to`: a copy of `from`, or zeros if it is null.
template <class RowOf, class T>
KOKKOS_INLINE_FUNCTION void copy_or_clear(const RowOf& row, int64_t width, const T* from, T* to) {
  if (from == nullptr)
    row.for_each(width, [=](int64_t j) { to[j] = T(0.0f); });
  else
    row.for_each(width, [=](int64_t j) { to[j] = from[j]; });
}

template <class T>
struct Neighbours {
  SampleRows rows;
  const T* x;
  T* out;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const int64_t place = r % rows.length, width = rows.width;
    for (int64_t part = 0; part < 3; ++part) {
      const int64_t from = place + part - 1;
      const bool exists = from >= 0 && from < rows.length;
      copy_or_clear(row, width, exists ? x + (r + part - 1) * width : nullptr,
                    out + (3 * r + part) * width);
    }
  }
};

template <class T>
struct NeighboursGrad {
  SampleRows rows;
  const T* dout;
  T* dx;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const int64_t place = r % rows.length, width = rows.width;
    const bool before = place > 0, after = place + 1 < rows.length;
    const T* const own = dout + (3 * r + 1) * width;
    const T* const earlier = before ? own - 2 * width : own;  // part 2 of the row before
    const T* const later = after ? own + 2 * width : own;     // part 0 of the row behind
    row.write(width, dx + r * width, [=](int64_t j) {
      const float first = before ? float(earlier[j]) : 0.0f, last = after ? float(later[j]) : 0.0f;
      return first + float(own[j]) + last;
    });
  }
};

template <class T>
struct ClearPadding {
  SampleRows rows;
  const int32_t* counts;
  const T* x;
  T* out;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const bool real = r % rows.length < counts[r / rows.length];
    copy_or_clear(row, rows.width, real ? x + r * rows.width : nullptr, out + r * rows.width);
  }
};

template <class T>
struct Take {
  SampleRows rows;
  RowsTaken taken;
  const T* x;
  T* out;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const int64_t from = r / taken.count * rows.length + taken.first + r % taken.count;
    copy_or_clear(row, rows.width, x + from * rows.width, out + r * rows.width);
  }
};

template <class T>
struct TakeGrad {
  SampleRows rows;
  RowsTaken taken;
  const T* dout;
  T* dx;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const int64_t place = r % rows.length - taken.first;
    const bool is_taken = place >= 0 && place < taken.count;
    const int64_t from = r / rows.length * taken.count + place;
    copy_or_clear(row, rows.width, is_taken ? dout + from * rows.width : nullptr,
                  dx + r * rows.width);
  }
};

}  // namespace

template <class T>
void neighbour_rows(Stream& stream, const SampleRows& rows, const T* x, T* out) {
  check(rows);
  for_each_row(stream, kNeighbours, rows.samples * rows.length, Neighbours<T>{rows, x, out});
}

template <class T>
void neighbour_rows_backward(Stream& stream, const SampleRows& rows, const T* dout, T* dx) {
  check(rows);
  for_each_row(stream, kNeighboursGrad, rows.samples * rows.length,
               NeighboursGrad<T>{rows, dout, dx});
}

template <class T>
void clear_padding(Stream& stream, const SampleRows& rows, const int32_t* counts, const T* x,
                   T* out) {
  check(rows);
  for_each_row(stream, kClear, rows.samples * rows.length, ClearPadding<T>{rows, counts, x, out});
}

template <class T>
void take_rows(Stream& stream, const SampleRows& rows, const RowsTaken& taken, const T* x, T* out) {
  check(rows, taken);
  for_each_row(stream, kTake, rows.samples * taken.count, Take<T>{rows, taken, x, out});
}

template <class T>
void take_rows_backward(Stream& stream, const SampleRows& rows, const RowsTaken& taken,
                        const T* dout, T* dx) {
  check(rows, taken);
  for_each_row(stream, kTakeGrad, rows.samples * rows.length, TakeGrad<T>{rows, taken, dout, dx});
}

template void neighbour_rows(Stream&, const SampleRows&, const float*, float*);
template void neighbour_rows_backward(Stream&, const SampleRows&, const float*, float*);
template void clear_padding(Stream&, const SampleRows&, const int32_t*, const float*, float*);
template void take_rows(Stream&, const SampleRows&, const RowsTaken&, const float*, float*);
template void take_rows_backward(Stream&, const SampleRows&, const RowsTaken&, const float*,
                                 float*);
template void neighbour_rows(Stream&, const SampleRows&, const bf16*, bf16*);
template void neighbour_rows_backward(Stream&, const SampleRows&, const bf16*, bf16*);
template void clear_padding(Stream&, const SampleRows&, const int32_t*, const bf16*, bf16*);
template void take_rows(Stream&, const SampleRows&, const RowsTaken&, const bf16*, bf16*);
template void take_rows_backward(Stream&, const SampleRows&, const RowsTaken&, const bf16*, bf16*);
template void neighbour_rows(Stream&, const SampleRows&, const f16*, f16*);
template void neighbour_rows_backward(Stream&, const SampleRows&, const f16*, f16*);
template void clear_padding(Stream&, const SampleRows&, const int32_t*, const f16*, f16*);
template void take_rows(Stream&, const SampleRows&, const RowsTaken&, const f16*, f16*);
template void take_rows_backward(Stream&, const SampleRows&, const RowsTaken&, const f16*, f16*);

}  // namespace zero::kernels
