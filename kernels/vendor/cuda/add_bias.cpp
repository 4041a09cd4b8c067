#include "kernels/support/elements.hpp"
#include "kernels/vendor/epilogue_rules.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kAddBias = "zero::add_bias";

template <class T>
struct AddBias {
  int64_t n, ldc;
  const T* bias;
  float* c;

  KOKKOS_FUNCTION void operator()(int64_t i) const { c[i / n * ldc + i % n] += float(bias[i % n]); }
};

template <class T>
void add(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  for_each_element(stream, kAddBias, spec.m * spec.n,
                   AddBias<T>{spec.n, spec.ldc, static_cast<const T*>(operands.bias),
                              static_cast<float*>(operands.c)});
}

}  // namespace

void add_bias(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  if (spec.in == Dtype::bf16)
    add<bf16>(stream, spec, operands);
  else
    add<f16>(stream, spec, operands);
}

}  // namespace zero::kernels::vendor
