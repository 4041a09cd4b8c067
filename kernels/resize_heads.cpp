#include "kernels/support/elements.hpp"
#include "zero/base/dtype.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::resize_heads";

/// A group of elements that are moved at once.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Piece {
  T at[kCount];
};

/// A resize whose widths and arrays are counted in pieces.
template <class P>
struct Resize {
  HeadWidths widths;
  const P* from;
  P* to;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t head = i / widths.to, j = i - head * widths.to;
    to[i] = j < widths.from ? from[head * widths.from + j] : P{};
  }
};

/// Resizes by pieces of kCount elements if widths and addresses are multiples, else by smaller
/// ones.
template <int kCount, class T>
void resize(Stream& stream, const HeadWidths& widths, const T* from, T* to) {
  using P = Piece<T, kCount>;
  const auto address = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  if constexpr (kCount > 1) {
    if ((widths.from | widths.to) % kCount != 0 || address % sizeof(P) != 0)
      return resize<kCount / 2>(stream, widths, from, to);
  }
  const HeadWidths counted{widths.heads, widths.from / kCount, widths.to / kCount};
  for_each_element(stream, kLabel, counted.heads * counted.to,
                   Resize<P>{counted, reinterpret_cast<const P*>(from), reinterpret_cast<P*>(to)});
}

}  // namespace

template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to) {
  resize<int(16 / sizeof(T))>(stream, widths, from, to);
}

template void resize_heads(Stream&, const HeadWidths&, const float*, float*);
template void resize_heads(Stream&, const HeadWidths&, const bf16*, bf16*);
template void resize_heads(Stream&, const HeadWidths&, const f16*, f16*);

}  // namespace zero::kernels
