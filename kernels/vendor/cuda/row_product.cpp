#include "kernels/support/rows.hpp"
#include "kernels/vendor/row_product_block.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

const std::string kRowProduct = "zero::row_product";
const std::string kTableProduct = "zero::table_product";

}  // namespace

int64_t row_product_scratch_numel(const RowProductExtents&) { return 0; }

template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.in > 0 && extents.out > 0, "product of ", extents.rows,
               " rows with ", extents.in, " x ", extents.out, ": every extent must be at least 1");
  for_each_element(stream, kRowProduct, extents.rows * extents.out,
                   vendor::RowProduct<T>{extents, arrays});
}

template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays) {
  ZERO_REQUIRE(classes > 0 && width > 0, "product with a table of ", classes, " x ", width,
               ": both must be at least 1");
  for_each_row(stream, kTableProduct, classes,
               vendor::TableProduct<T>{classes, width, inputs, arrays});
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
