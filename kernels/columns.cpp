#include "zero/kernels/columns.hpp"

#include <cmath>

#include "kernels/support/elements.hpp"

namespace zero::kernels {
namespace {

const std::string kAddLabel = "zero::add_to_columns", kTakeLabel = "zero::take_columns";

template <class T>
struct AddToColumns {
  ColumnRange range;
  float scale;
  const T *x, *part;
  T* y;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t row = i / range.columns, column = i - row * range.columns - range.first;
    const bool is_inside = column >= 0 && column < range.width;
    if (is_inside) {
      y[i] = T(std::fma(scale, float(part[row * range.width + column]), float(x[i])));
    } else {
      y[i] = x[i];
    }
  }
};

template <class T>
struct TakeColumns {
  ColumnRange range;
  float scale;
  const T* x;
  T* part;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t row = i / range.width, column = i - row * range.width;
    part[i] = T(scale * float(x[row * range.columns + range.first + column]));
  }
};

}  // namespace

template <class T>
void add_to_columns(Stream& stream, const ColumnRange& range, float scale, const T* x,
                    const T* part, T* y) {
  for_each_element(stream, kAddLabel, range.rows * range.columns,
                   AddToColumns<T>{range, scale, x, part, y});
}
template void add_to_columns(Stream&, const ColumnRange&, float, const float*, const float*,
                             float*);
template void add_to_columns(Stream&, const ColumnRange&, float, const bf16*, const bf16*, bf16*);
template void add_to_columns(Stream&, const ColumnRange&, float, const f16*, const f16*, f16*);

template <class T>
void take_columns(Stream& stream, const ColumnRange& range, float scale, const T* x, T* part) {
  for_each_element(stream, kTakeLabel, range.rows * range.width,
                   TakeColumns<T>{range, scale, x, part});
}
template void take_columns(Stream&, const ColumnRange&, float, const float*, float*);
template void take_columns(Stream&, const ColumnRange&, float, const bf16*, bf16*);
template void take_columns(Stream&, const ColumnRange&, float, const f16*, f16*);

}  // namespace zero::kernels
