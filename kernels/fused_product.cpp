#include <algorithm>

#include "kernels/vendor/epilogue_rules.hpp"
#include "kernels/vendor/gemm.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/dropout.hpp"
#include "zero/kernels/elementwise.hpp"
#include "zero/kernels/gradients.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

using vendor::Apart;
using vendor::Epilogue;

template <class T>
vendor::GemmSpec fused_spec(const ProductSpec& spec, Epilogue epilogue, bool bias = false) {
  ZERO_REQUIRE(!spec.accumulate && (spec.ldc == 0 || spec.ldc == spec.n),
               "a fused product writes c whole and dense: no accumulate, no ldc");
  vendor::GemmSpec made = gemm_spec(spec, dtype_of<T>(), dtype_of<T>(), bias);
  made.epilogue = epilogue;
  return made;
}

}  // namespace

bool fuses_products() { return vendor::has_epilogues(); }

template <class T>
void product_gelu(Stream& stream, const ProductSpec& spec, const ProductGelu<T>& arrays) {
  const auto apart = [&] {
    product<T, T>(stream, spec, arrays.a, arrays.b, arrays.bias, arrays.h);
    activate<T>(stream, Activation::gelu, spec.m * spec.n, arrays.h, arrays.y);
  };
  vendor::fused_gemm(
      stream, fused_spec<T>(spec, Epilogue::gelu, arrays.bias != nullptr),
      {.a = arrays.a, .b = arrays.b, .c = arrays.y, .bias = arrays.bias, .aux = arrays.h},
      Apart(apart));
}

template <class T>
void product_add(Stream& stream, const ProductSpec& spec, const ProductAdd<T>& arrays) {
  const auto apart = [&] {
    product<T, T>(stream, spec, arrays.a, arrays.b, arrays.bias, arrays.y);
    const DropoutExtents whole{.samples = 1, .numel_per_sample = spec.m * spec.n};
    dropout_add<T>(stream, {}, whole, nullptr, arrays.y, arrays.residual, arrays.y);
  };
  vendor::fused_gemm(stream, fused_spec<T>(spec, Epilogue::residual, arrays.bias != nullptr),
                     {.a = arrays.a,
                      .b = arrays.b,
                      .c = arrays.y,
                      .bias = arrays.bias,
                      .aux = const_cast<T*>(arrays.residual)},
                     Apart(apart));
}

int64_t gelu_backward_scratch_numel(int64_t rows, int64_t columns) {
  const int64_t apart = column_sum_scratch_numel(rows, columns);
  if (!fuses_products()) return apart;
  return std::max(apart, ceil_div(rows, vendor::kGradientSumRows) * columns);
}

template <class T>
void product_gelu_backward(Stream& stream, const ProductSpec& spec,
                           const ProductGeluBackward<T>& arrays) {
  const bool sums = arrays.sum != nullptr;
  const auto alone = [&] {
    product<T, T>(stream, spec, arrays.a, arrays.b, nullptr, arrays.dh);
    activate_backward<T>(stream, Activation::gelu, spec.m * spec.n,
                         {arrays.h, arrays.dh, arrays.dh});
  };
  const auto sum_behind = [&] {
    product_gelu_backward<T>(stream, spec, {arrays.a, arrays.b, arrays.h, arrays.dh});
    column_sum<T>(stream, spec.m, spec.n, arrays.dh, arrays.sum, arrays.scratch);
  };
  vendor::fused_gemm(
      stream, fused_spec<T>(spec, sums ? Epilogue::gelu_gradient_sums : Epilogue::gelu_gradient),
      {.a = arrays.a,
       .b = arrays.b,
       .c = arrays.dh,
       .aux = const_cast<T*>(arrays.h),
       .sums = arrays.sum,
       .scratch = arrays.scratch},
      sums ? Apart(sum_behind) : Apart(alone));
}

template <class T>
void product_column_sum(Stream& stream, const ProductSpec& spec,
                        const ProductColumnSum<T>& arrays) {
  ZERO_REQUIRE(!spec.transpose_b && (spec.ldb == 0 || spec.ldb == spec.n),
               "column sums are those of a dense b [k, n]");
  const auto apart = [&] {
    product<T, T>(stream, spec, arrays.a, arrays.b, nullptr, arrays.c);
    column_sum<T>(stream, spec.k, spec.n, arrays.b, arrays.sum, arrays.scratch);
  };
  vendor::fused_gemm(stream, fused_spec<T>(spec, Epilogue::column_sums),
                     {.a = arrays.a, .b = arrays.b, .c = arrays.c, .sums = arrays.sum},
                     Apart(apart));
}

template <class T>
void product_into_sum(Stream& stream, const ProductSpec& spec, const ProductIntoSum<T>& arrays) {
  float* c = arrays.c;
  const auto inside = [&] {
    product<T, float>(stream, spec, arrays.a, arrays.b, nullptr, c);
    column_sum<T>(stream, spec.k, spec.n, arrays.b, arrays.sum, arrays.scratch);
  };
  if (arrays.rounded == nullptr) return inside();
  const auto beside = [&] {
    ProductSpec whole = spec;
    whole.accumulate = false;
    product_column_sum<T>(stream, whole,
                          {arrays.a, arrays.b, arrays.rounded, arrays.sum, arrays.scratch});
    accumulate<T>(stream, spec.m * spec.n, arrays.rounded, c, !spec.accumulate);
  };
  vendor::GemmSpec made = gemm_spec(spec, dtype_of<T>(), Dtype::f32, false);
  made.epilogue = Epilogue::column_sums;
  vendor::run_faster(stream, made, {.a = arrays.a, .b = arrays.b, .c = arrays.c}, c, Apart(inside),
                     Apart(beside));
}

template void product_gelu(Stream&, const ProductSpec&, const ProductGelu<float>&);
template void product_gelu(Stream&, const ProductSpec&, const ProductGelu<bf16>&);
template void product_gelu(Stream&, const ProductSpec&, const ProductGelu<f16>&);
template void product_add(Stream&, const ProductSpec&, const ProductAdd<float>&);
template void product_add(Stream&, const ProductSpec&, const ProductAdd<bf16>&);
template void product_add(Stream&, const ProductSpec&, const ProductAdd<f16>&);
template void product_gelu_backward(Stream&, const ProductSpec&, const ProductGeluBackward<float>&);
template void product_gelu_backward(Stream&, const ProductSpec&, const ProductGeluBackward<bf16>&);
template void product_gelu_backward(Stream&, const ProductSpec&, const ProductGeluBackward<f16>&);
template void product_into_sum(Stream&, const ProductSpec&, const ProductIntoSum<float>&);
template void product_into_sum(Stream&, const ProductSpec&, const ProductIntoSum<bf16>&);
template void product_into_sum(Stream&, const ProductSpec&, const ProductIntoSum<f16>&);
template void product_column_sum(Stream&, const ProductSpec&, const ProductColumnSum<float>&);
template void product_column_sum(Stream&, const ProductSpec&, const ProductColumnSum<bf16>&);
template void product_column_sum(Stream&, const ProductSpec&, const ProductColumnSum<f16>&);

}  // namespace zero::kernels
