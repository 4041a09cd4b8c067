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

void load(const float* from, Block& to) {
#pragma GCC unroll 4
  for (int64_t part = 0; part < kParts; ++part)
    std::memcpy(&to.part[part], from + part * kLanes, sizeof(Lanes));
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
#pragma GCC unroll 4
  for (int64_t part = 0; part < kParts; ++part) sums.part[part] += factor * block.part[part];
}

void add_products(const Block& a, const Block& b, Block& sums) {
#pragma GCC unroll 4
  for (int64_t part = 0; part < kParts; ++part) sums.part[part] += a.part[part] * b.part[part];
}

float sum_of(const Block& block) {
  // Halves upon halves. Through memory it would take as long as 300 products.
  Lanes all = (block.part[0] + block.part[1]) + (block.part[2] + block.part[3]);
  all += __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  all += __builtin_shufflevector(all, all, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  all += __builtin_shufflevector(all, all, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  all += __builtin_shufflevector(all, all, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return all[0];
}

}  // namespace

template <int64_t kRows, class T>
void multiply_panel(const Panel<T>& panel, const float* factors, float* sums) {
  const T* from = panel.first;
  const bool whole = panel.columns == kPanelColumns;
  Block kept[kRows];
  for (int64_t i = 0; i < panel.count; ++i, factors += kRows, from += panel.ld) {
    Block row;
    if (whole)
      load(from, row);
    else
      load_some(from, panel.columns, row);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) add_multiple(factors[r], row, kept[r]);
  }
#pragma GCC unroll 4
  for (int64_t r = 0; r < kRows; ++r) store<T>(kept[r], sums + r * kPanelColumns);
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
void dots(int64_t numel, const T* const* x, const T* y, float* sums) {
  Block kept[kDots][kDots];
  for (int64_t i = 0; i < numel; i += kPanelColumns) {
    Block a, b[kDots];
#pragma GCC unroll 2
    for (int64_t c = 0; c < kDots; ++c) load(y + c * numel + i, b[c]);
#pragma GCC unroll 2
    for (int64_t r = 0; r < kDots; ++r) {
      load(x[r] + i, a);
#pragma GCC unroll 2
      for (int64_t c = 0; c < kDots; ++c) add_products(a, b[c], kept[r][c]);
    }
  }
  for (int64_t r = 0; r < kDots; ++r)
    for (int64_t c = 0; c < kDots; ++c) sums[r * kDots + c] = sum_of(kept[r][c]);
}

template void dots(int64_t, const float* const*, const float*, float*);
template void dots(int64_t, const bf16* const*, const bf16*, float*);
template void dots(int64_t, const f16* const*, const f16*, float*);
template void multiply_panel<1>(const Panel<float>&, const float*, float*);
template void multiply_panel<1>(const Panel<bf16>&, const float*, float*);
template void multiply_panel<1>(const Panel<f16>&, const float*, float*);
template void multiply_panel<kPanelRows>(const Panel<float>&, const float*, float*);
template void multiply_panel<kPanelRows>(const Panel<bf16>&, const float*, float*);
template void multiply_panel<kPanelRows>(const Panel<f16>&, const float*, float*);
template float dot(int64_t, const float*, const float*);
template float dot(int64_t, const bf16*, const bf16*);
template float dot(int64_t, const f16*, const f16*);

}  // namespace zero::kernels::vendor
