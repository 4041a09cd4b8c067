#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

const std::string kRowProduct = "zero::row_product";
const std::string kTableProduct = "zero::table_product";

/// One thread an element: neighbours read neighbouring columns of a panel, and the sum runs in the
/// host's order, one fused step each.
template <class T>
struct RowProduct {
  RowProductExtents extents;
  RowProductArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    constexpr int64_t kColumns = WeightPanels::kColumns;
    const int64_t row = i / extents.out, column = i % extents.out;
    const int64_t first = column / kColumns * kColumns,
                  columns = least(kColumns, extents.out - first);
    const T* const x = arrays.x + row * extents.in;
    const T* const weight = arrays.weight + first * extents.in + column - first;
    float sum = 0.0f;
    for (int64_t k = 0; k < extents.in; ++k)
      sum = std::fma(float(x[k]), float(weight[k * columns]), sum);
    arrays.y[i] = T(arrays.bias == nullptr ? sum : float(arrays.bias[column]) + sum);
  }
};

template <class T>
struct TableProduct {
  int64_t classes, width;
  const DecodeInputs* inputs;
  TableProductArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t c) const {
    const T* const class_row = arrays.table + c * width;
    for (int64_t wanted = 0; wanted < inputs->logits; ++wanted) {
      const T* const values = arrays.x + arrays.rows[wanted] * width;
      const float sum = row.template sum<float>(
          width, [=](int64_t i) { return float(values[i]) * float(class_row[i]); });
      float* const out = arrays.y + wanted * classes + c;
      row.once([=] { *out = sum; });
    }
  }
};

}  // namespace

int64_t row_product_scratch_numel(const RowProductExtents&) { return 0; }

template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.in > 0 && extents.out > 0, "product of ", extents.rows,
               " rows with ", extents.in, " x ", extents.out, ": every extent must be at least 1");
  for_each_element(stream, kRowProduct, extents.rows * extents.out, RowProduct<T>{extents, arrays});
}

template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays) {
  ZERO_REQUIRE(classes > 0 && width > 0, "product with a table of ", classes, " x ", width,
               ": both must be at least 1");
  for_each_row(stream, kTableProduct, classes, TableProduct<T>{classes, width, inputs, arrays});
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
