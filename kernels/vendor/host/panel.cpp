#include "kernels/vendor/host/panel.hpp"

#include <algorithm>
#include <cstring>

#include "zero/base/dtype.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kParts = kPanelColumns / kLanes;

// A compiler keeps vectors in registers through a loop where it would not keep arrays.
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Words [[gnu::vector_size(kLanes * sizeof(uint32_t))]] = uint32_t;

struct Block {
  Lanes part[kParts] = {};
};

/// part(0) to part(kParts - 1), written out: what a loop indexes lies in memory before and after
/// it.
template <class Part>
[[gnu::always_inline]] inline void each_part(const Part& part) {
  static_assert(kParts == 4);
  part(0), part(1), part(2), part(3);
}

void load(const float* from, Block& to) {
  each_part([&](int64_t i) { std::memcpy(&to.part[i], from + i * kLanes, sizeof(Lanes)); });
}

/// One of two elements in a word needs a shift and the other a mask: half the work of widening them
/// in order. So a part has the even or the odd ones of 32.
void load(const bf16* from, Block& to) {
#pragma GCC unroll 2
  for (int64_t part = 0; part < kParts; part += 2) {
    Words words;
    std::memcpy(&words, from + part * kLanes, sizeof(words));
    to.part[part] = (Lanes)(words << 16);
    to.part[part + 1] = (Lanes)(words & 0xffff0000u);
  }
}

void load(const f16* from, Block& to) {
  float wide[kPanelColumns];
  for (int64_t i = 0; i < kPanelColumns; ++i) wide[i] = float(from[i]);
  load(wide, to);
}

/// The first `count` elements, and zeros.
template <class T>
void load_some(const T* from, int64_t count, Block& to) {
  T padded[kPanelColumns] = {};
  std::copy_n(from, count, padded);
  load(padded, to);
}

/// The reverse of load(const T*).
template <class T>
void store(const Block& from, float* to) {
#pragma GCC unroll 4
  for (int64_t part = 0; part < kParts; ++part)
    std::memcpy(to + part * kLanes, &from.part[part], sizeof(Lanes));
}

template <>
void store<bf16>(const Block& from, float* to) {
#pragma GCC unroll 2
  for (int64_t part = 0; part < kParts; part += 2) {
    for (int64_t l = 0; l < kLanes; ++l) {
      to[part * kLanes + 2 * l] = from.part[part][l];
      to[part * kLanes + 2 * l + 1] = from.part[part + 1][l];
    }
  }
}

void add_multiple(float factor, const Block& block, Block& sums) {
  each_part([&](int64_t i) { sums.part[i] += factor * block.part[i]; });
}

void add_products(const Block& a, const Block& b, Block& sums) {
  each_part([&](int64_t i) { sums.part[i] += a.part[i] * b.part[i]; });
}

Lanes lanes_of(const Block& block) {
  return (block.part[0] + block.part[1]) + (block.part[2] + block.part[3]);
}

float sum_of(const Block& block) {
  // Halves upon halves. Through memory it would take as long as 300 products.
  Lanes all = lanes_of(block);
  all += __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  all += __builtin_shufflevector(all, all, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  all += __builtin_shufflevector(all, all, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  all += __builtin_shufflevector(all, all, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return all[0];
}

/// sum_of() of four, in the same tree: halves of two share a vector, then quarters of four.
void sums_of(Lanes a, Lanes b, Lanes c, Lanes d, float* sums) {
  const auto halves = [](const Lanes& x, const Lanes& y) {
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                   31);
  };
  const Lanes ab = halves(a, b), cd = halves(c, d);
  Lanes all =
      __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
      __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all += __builtin_shufflevector(all, all, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  all += __builtin_shufflevector(all, all, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  for (int64_t i = 0; i < 4; ++i) sums[i] = all[4 * i];
}

/// Rows of a panel that stay in half of a core's nearest cache while all tiles use them.
template <class T>
constexpr int64_t kNear = 24576 / (kPanelColumns * sizeof(T));

/// Elements of the line of a cache.
template <class T>
constexpr int64_t kLine = 64 / sizeof(T);

/// Adds what rows of the panel give to sums. Meanwhile a line of each row that follows the near
/// ones is fetched: the one that `ahead` counts.
template <int64_t kRows, class T>
void add_rows(const Panel<T>& panel, int64_t begin, int64_t end, int64_t ahead,
              const float* factors, Block (&sums)[kRows]) {
  const bool whole = panel.columns == kPanelColumns;
  Block kept[kRows];
#pragma GCC unroll 4
  for (int64_t r = 0; r < kRows; ++r) kept[r] = sums[r];
  for (int64_t i = begin; i < end; ++i) {
    const T* const from = panel.first + i * panel.ld;
    if constexpr (kRows > 1)
      __builtin_prefetch(from + kNear<T> * panel.ld + ahead * kLine<T>, 0, 2);
    Block row;
    if (whole)
      load(from, row);
    else
      load_some(from, panel.columns, row);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) add_multiple(factors[i * kRows + r], row, kept[r]);
  }
#pragma GCC unroll 4
  for (int64_t r = 0; r < kRows; ++r) sums[r] = kept[r];
}

}  // namespace

template <int64_t kRows, class T>
void multiply_panel(const Panel<T>& panel, int64_t tiles, const float* factors, float* sums) {
  for (int64_t begin = 0; begin < panel.count; begin += kNear<T>) {
    const int64_t end = std::min(begin + kNear<T>, panel.count);
    for (int64_t t = 0; t < tiles; ++t) {
      float* const to = sums + t * kRows * kPanelColumns;
      Block kept[kRows];
      if (begin > 0) std::memcpy(&kept[0].part, to, sizeof(kept));
      const int64_t ahead = std::min(t, kPanelColumns / kLine<T> - 1);
      add_rows(panel, begin, end, ahead, factors + t * panel.count * kRows, kept);
      if (end < panel.count) {
        std::memcpy(to, &kept[0].part, sizeof(kept));
        continue;
      }
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) store<T>(kept[r], to + r * kPanelColumns);
    }
  }
}

template <class T>
float dot(int64_t numel, const T* x, const T* y) {
  const int64_t whole = numel / kPanelColumns * kPanelColumns;
  Block sums, a, b;
  for (int64_t i = 0; i < whole; i += kPanelColumns) {
    load(x + i, a);
    load(y + i, b);
    add_products(a, b, sums);
  }
  if (whole < numel) {
    load_some(x + whole, numel - whole, a);
    load_some(y + whole, numel - whole, b);
    add_products(a, b, sums);
  }
  return sum_of(sums);
}

template <class T>
void dots(int64_t numel, const T* const* x, const T* y, const T* ahead, float* sums) {
  static_assert(kDots == 2);
  Block s00, s01, s10, s11;
  for (int64_t i = 0; i < numel; i += kPanelColumns) {
    for (int64_t j = 0; j < kPanelColumns / 2; j += kLine<T>)
      __builtin_prefetch(ahead + i / 2 + j, 0, 2);
    Block row, class0, class1;
    load(y + i, class0);
    load(y + numel + i, class1);
    load(x[0] + i, row);
    add_products(row, class0, s00);
    add_products(row, class1, s01);
    load(x[1] + i, row);
    add_products(row, class0, s10);
    add_products(row, class1, s11);
  }
  sums_of(lanes_of(s00), lanes_of(s01), lanes_of(s10), lanes_of(s11), sums);
}

template void dots(int64_t, const float* const*, const float*, const float*, float*);
template void dots(int64_t, const bf16* const*, const bf16*, const bf16*, float*);
template void dots(int64_t, const f16* const*, const f16*, const f16*, float*);
template void multiply_panel<1>(const Panel<float>&, int64_t, const float*, float*);
template void multiply_panel<1>(const Panel<bf16>&, int64_t, const float*, float*);
template void multiply_panel<1>(const Panel<f16>&, int64_t, const float*, float*);
template void multiply_panel<kPanelRows>(const Panel<float>&, int64_t, const float*, float*);
template void multiply_panel<kPanelRows>(const Panel<bf16>&, int64_t, const float*, float*);
template void multiply_panel<kPanelRows>(const Panel<f16>&, int64_t, const float*, float*);
template float dot(int64_t, const float*, const float*);
template float dot(int64_t, const bf16*, const bf16*);
template float dot(int64_t, const f16*, const f16*);

}  // namespace zero::kernels::vendor
