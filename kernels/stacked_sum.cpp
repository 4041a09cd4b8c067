#include "zero/kernels/stacked_sum.hpp"

#include "kernels/support/elements.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::kernels {
namespace {

const std::string kStackedSum = "zero::stacked_sum";

template <class T, class Out>
struct TreeOfElements {
  Stack stack;
  const T* first;
  Out* out;
  bool add;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    float sum[kMaxTreeSources];
    for (int r = 0; r < stack.sources; ++r) sum[r] = float(first[r * stack.stride + i]);
    for (int step = 1; step < stack.sources; step *= 2)
      for (int r = 0; r + step < stack.sources; r += 2 * step) sum[r] += sum[r + step];
    out[i] = Out(add ? float(out[i]) + sum[0] : sum[0]);
  }
};

}  // namespace

template <class T, class Out>
void stacked_sum(Stream& stream, const Stack& stack, int64_t numel, const T* first, Out* out,
                 bool add) {
  ZERO_REQUIRE(stack.sources >= 1 && stack.sources <= kMaxTreeSources, "sum of ", stack.sources,
               " sources: 1 to ", kMaxTreeSources);
  ZERO_REQUIRE(!add || dtype_of<Out>() == Dtype::f32, "adding to ", name_of(dtype_of<Out>()),
               ": only fp32 can be added to");
  for_each_element(stream, kStackedSum, numel, TreeOfElements<T, Out>{stack, first, out, add});
}

template void stacked_sum(Stream&, const Stack&, int64_t, const float*, float*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const bf16*, float*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const f16*, float*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const bf16*, bf16*, bool);
template void stacked_sum(Stream&, const Stack&, int64_t, const f16*, f16*, bool);

}  // namespace zero::kernels
