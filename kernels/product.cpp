#include "zero/kernels/product.hpp"

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels {

template <class T, class Out>
void product(Stream& stream, const ProductSpec& spec, const T* a, const T* b, const T* bias,
             Out* c) {
  vendor::gemm(stream, gemm_spec(spec, dtype_of<T>(), dtype_of<Out>(), bias != nullptr),
               {.a = a, .b = b, .c = c, .bias = bias});
}

template void product(Stream&, const ProductSpec&, const float*, const float*, const float*,
                      float*);
template void product(Stream&, const ProductSpec&, const bf16*, const bf16*, const bf16*, bf16*);
template void product(Stream&, const ProductSpec&, const bf16*, const bf16*, const bf16*, float*);
template void product(Stream&, const ProductSpec&, const f16*, const f16*, const f16*, f16*);
template void product(Stream&, const ProductSpec&, const f16*, const f16*, const f16*, float*);

void prepare_product(Stream& stream, const ProductSpec& spec, Dtype in, Dtype out, bool bias) {
  vendor::prepare_gemm(stream, gemm_spec(spec, in, out, bias));
}

int64_t products_made() { return vendor::gemms_made(); }

void set_product_rules(const ProductRules& rules) {
  ZERO_REQUIRE(rules.candidates >= 1 && rules.candidates <= vendor::kCandidatesMost, "a choice of ",
               rules.candidates, " algorithms: 1 to ", vendor::kCandidatesMost);
  vendor::set_gemm_rules(
      {.measure = rules.measure, .cache = rules.cache, .candidates = rules.candidates});
}

const char* product_library() { return vendor::gemm_library(); }
const char* product_isa() { return vendor::gemm_isa(); }

}  // namespace zero::kernels
