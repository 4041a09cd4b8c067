#include "zero/kernels/product.hpp"

#include "kernels/vendor/gemm.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

void check(const ProductSpec& spec, Dtype out, bool bias) {
  ZERO_REQUIRE(spec.m > 0 && spec.n > 0 && spec.k > 0, "product of ", spec.m, " x ", spec.n, " x ",
               spec.k, ": every extent must be at least 1");
  ZERO_REQUIRE(!spec.accumulate || out == Dtype::f32, "product would accumulate in ", name_of(out),
               ": sums stay in fp32, so give a float c");
  ZERO_REQUIRE(!bias || !spec.accumulate, "product with both a bias and accumulate: choose one");
}

int64_t leading(int64_t given, int64_t dense) {
  ZERO_REQUIRE(given == 0 || given >= dense, "leading dimension ", given, " of rows of ", dense);
  return given == 0 ? dense : given;
}

}  // namespace

template <class T, class Out>
void product(Stream& stream, const ProductSpec& spec, const T* a, const T* b, const T* bias,
             Out* c) {
  check(spec, dtype_of<Out>(), bias != nullptr);
  vendor::gemm(stream,
               {.m = spec.m,
                .n = spec.n,
                .k = spec.k,
                .lda = leading(spec.lda, spec.transpose_a ? spec.m : spec.k),
                .ldb = leading(spec.ldb, spec.transpose_b ? spec.k : spec.n),
                .ldc = leading(spec.ldc, spec.n),
                .in = dtype_of<T>(),
                .out = dtype_of<Out>(),
                .transpose_a = spec.transpose_a,
                .transpose_b = spec.transpose_b,
                .accumulate = spec.accumulate,
                .bias = bias != nullptr},
               {.a = a, .b = b, .c = c, .bias = bias});
}

template void product(Stream&, const ProductSpec&, const float*, const float*, const float*,
                      float*);
template void product(Stream&, const ProductSpec&, const bf16*, const bf16*, const bf16*, bf16*);
template void product(Stream&, const ProductSpec&, const bf16*, const bf16*, const bf16*, float*);
template void product(Stream&, const ProductSpec&, const f16*, const f16*, const f16*, f16*);
template void product(Stream&, const ProductSpec&, const f16*, const f16*, const f16*, float*);

void set_product_rules(const ProductRules& rules) {
  vendor::set_gemm_rules({.measure = rules.measure, .cache = rules.cache});
}

const char* product_library() { return vendor::gemm_library(); }
const char* product_isa() { return vendor::gemm_isa(); }

}  // namespace zero::kernels
