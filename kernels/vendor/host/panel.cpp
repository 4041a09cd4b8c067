#include "kernels/vendor/host/panel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "zero/base/align.hpp"
#include "zero/base/dtype.hpp"

namespace zero::kernels::vendor {
namespace {

// A compiler keeps vectors of the processor's width in registers through a loop. Wider vectors and
// arrays lie in memory.
#ifdef __AVX512F__
constexpr int64_t kLanes = 16, kRegisters = 32;
#else
constexpr int64_t kLanes = 8, kRegisters = 16;
#endif
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Words [[gnu::vector_size(kLanes * sizeof(uint32_t))]] = uint32_t;
using Eight [[gnu::vector_size(8 * sizeof(float))]] = float;

/// Returns a vector that lies in a register. A compiler may else read it from memory for each use.
#ifdef __AVX__
[[gnu::always_inline]] inline Lanes in_register(Lanes vector) {
  asm("" : "+v"(vector));
  return vector;
}
#else
[[gnu::always_inline]] inline Lanes in_register(Lanes vector) { return vector; }
#endif

/// Returns the upper half of 16 lanes added to the lower one.
#ifdef __AVX512F__
Eight add_halves(const Lanes (&lanes)[1]) {
  return __builtin_shufflevector(lanes[0], lanes[0], 0, 1, 2, 3, 4, 5, 6, 7) +
         __builtin_shufflevector(lanes[0], lanes[0], 8, 9, 10, 11, 12, 13, 14, 15);
}
#else
Eight add_halves(const Lanes (&lanes)[2]) { return lanes[0] + lanes[1]; }
#endif

/// Vectors of a row of kPanelColumns. The first 16 of 32 columns lie in vectors with even numbers,
/// the others in those between them. Elements of bf16 take turns: one of two in a word needs a
/// shift and the other a mask, half the work of widening them in order.
constexpr int64_t kVectors = kPanelColumns / kLanes, kVectorsOf32 = 32 / kLanes;

constexpr int64_t first_column(int64_t vector) {
  return vector / kVectorsOf32 * 32 + vector % kVectorsOf32 / 2 * kLanes + vector % 2 * 16;
}

struct Block {
  Lanes vector[kVectors];
};

/// Calls call(0) to call(kCount - 1), each with a constant, because a variable would index memory.
template <int64_t kCount, class Call>
[[gnu::always_inline]] inline void each(const Call& call) {
  const auto call_all = [&]<int64_t... i>(std::integer_sequence<int64_t, i...>) {
    (call(std::integral_constant<int64_t, i>()), ...);
  };
  call_all(std::make_integer_sequence<int64_t, kCount>());
}

// Vectors go by value, because one whose address is taken lies in memory.
[[gnu::always_inline]] inline Lanes lanes_at(const float* from) {
  Lanes to;
  std::memcpy(&to, from, sizeof(to));
  return to;
}

[[gnu::always_inline]] inline void store(Lanes from, float* to) {
  std::memcpy(to, &from, sizeof(from));
}

[[gnu::always_inline]] inline Lanes load(const float* row, int64_t vector) {
  return lanes_at(row + first_column(vector));
}

[[gnu::always_inline]] inline Lanes load(const bf16* row, int64_t vector) {
  Words words;
  std::memcpy(&words, row + vector / 2 * 2 * kLanes, sizeof(words));
  return vector % 2 == 0 ? (Lanes)(words << 16) : (Lanes)(words & 0xffff0000u);
}

/// Widens as f16_value() does.
[[gnu::always_inline]] inline Lanes load(const f16* row, int64_t vector) {
  using Halves [[gnu::vector_size(kLanes * sizeof(uint16_t))]] = uint16_t;
  Halves halves;
  std::memcpy(&halves, row + first_column(vector), sizeof(halves));
  const Words bits = __builtin_convertvector(halves, Words), magnitude = bits & 0x7fffu;
  const Lanes finite = (Lanes)(magnitude << 13) * 0x1p112f;
  const Words special = (magnitude << 13) + 0x70000000u;
  const Words value = magnitude >= 0x7c00u ? special : (Words)finite;
  return (Lanes)((bits & 0x8000u) << 16 | value);
}

/// Puts the sums of a row in the order of its columns. Sums of bf16 come from vectors that hold
/// every other column.
template <class T>
void put_in_order(float*) {}

template <>
void put_in_order<bf16>(float* row) {
  float vectors[kPanelColumns];
  std::copy_n(row, kPanelColumns, vectors);
  for (int64_t column = 0; column < kPanelColumns; column += 32)
    for (int64_t i = 0; i < 32; ++i) row[column + i] = vectors[column + i % 2 * 16 + i / 2];
}

/// Undoes put_in_order().
template <class T>
void put_in_vectors(float*) {}

template <>
void put_in_vectors<bf16>(float* row) {
  float columns[kPanelColumns];
  std::copy_n(row, kPanelColumns, columns);
  for (int64_t column = 0; column < kPanelColumns; column += 32)
    for (int64_t i = 0; i < 32; ++i) row[column + i % 2 * 16 + i / 2] = columns[column + i];
}

/// Returns the vectors of a block added up to eight lanes.
Eight eight_of(const Block& block) {
  Lanes lanes[kVectorsOf32 / 2];
  for (int64_t i = 0; i < kVectorsOf32 / 2; ++i) {
    const Lanes *const a = &block.vector[2 * i], *const b = a + kVectorsOf32;
    lanes[i] = (a[0] + a[1]) + (b[0] + b[1]);
  }
  return add_halves(lanes);
}

/// Writes the sums of four blocks, each as a balanced tree: halves upon halves, with two blocks in
/// a vector. Through memory it would take as long as 300 products.
void add_up(const Block& a, const Block& b, const Block& c, const Block& d, float* sums) {
  const auto quarters = [](const Block& x, const Block& y) {
    const Eight of_x = eight_of(x), of_y = eight_of(y);
    return __builtin_shufflevector(of_x, of_y, 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(of_x, of_y, 4, 5, 6, 7, 12, 13, 14, 15);
  };
  const Eight ab = quarters(a, b), cd = quarters(c, d);
  Eight all = __builtin_shufflevector(ab, cd, 0, 1, 4, 5, 8, 9, 12, 13) +
              __builtin_shufflevector(ab, cd, 2, 3, 6, 7, 10, 11, 14, 15);
  all += __builtin_shufflevector(all, all, 1, 0, 3, 2, 5, 4, 7, 6);
  for (int64_t i = 0; i < 4; ++i) sums[i] = all[2 * i];
}

/// Rows of a panel that stay in half of a core's nearest cache while all tiles use them.
template <class T>
constexpr int64_t kNear = 24576 / (kPanelColumns * sizeof(T));

/// Elements of a line of a cache.
template <class T>
constexpr int64_t kLine = 64 / sizeof(T);

/// Returns the number of vectors whose sums, `sums` of each, take half of the registers.
constexpr int64_t vectors_at_once(int64_t sums) {
  return std::clamp<int64_t>(kRegisters / 2 / sums, 1, kVectors);
}

/// Returns the rows of a panel of which kPanelColumns elements may be read in place. Behind a row's
/// columns lie the next rows, except for the last ones.
template <class T>
int64_t whole_rows(const Panel<T>& panel) {
  const int64_t beyond = kPanelColumns - panel.columns;
  return std::max<int64_t>(panel.count - ceil_div(beyond, panel.ld), 0);
}

/// Adds rows of the panel to the sums of some vectors, which lie at their first columns and start
/// from zero unless the panel goes on. Also prefetches line `ahead` of each row that follows the
/// near ones.
template <int64_t kRows, int64_t kFirst, class T>
void add_rows(const Panel<T>& panel, int64_t begin, int64_t end, int64_t ahead,
              const float* factors, float* sums) {
  constexpr int64_t kCount = vectors_at_once(kRows);
  const auto place = [&](int64_t r, int64_t v) {
    return sums + r * kPanelColumns + first_column(kFirst + v);
  };
  Lanes kept[kRows][kCount] = {};
  each<kRows>([&](auto r) {
    each<kCount>([&](auto v) {
      if (begin > 0 || panel.goes_on) kept[r][v] = lanes_at(place(r, v));
    });
  });
  const auto add = [&](int64_t i, const T* row) {
    each<kCount>([&](auto v) {
      const Lanes columns = in_register(load(row, kFirst + v));
      each<kRows>([&](auto r) { kept[r][v] += factors[i * kRows + r] * columns; });
    });
  };
  const T* from = panel.first + begin * panel.ld;
  int64_t i = begin;
  for (const int64_t whole = std::min(whole_rows(panel), end); i < whole; ++i, from += panel.ld) {
    if (kRows > 1 && kFirst == 0)
      __builtin_prefetch(from + kNear<T> * panel.ld + ahead * kLine<T>, 0, 2);
    add(i, from);
  }
  T padded[kPanelColumns] = {};
  const T* const last = panel.first + (panel.count - 1) * panel.ld + panel.columns;
  for (; i < end; ++i, from += panel.ld) {
    std::copy(from, last, padded);
    add(i, padded);
  }
  each<kRows>([&](auto r) { each<kCount>([&](auto v) { store(kept[r][v], place(r, v)); }); });
}

/// Writes the sums of some vectors of x[r][i] y[c numel + i].
template <int64_t kFirst, class T>
[[gnu::always_inline]] inline void sum_products(int64_t numel, const T* const* x, const T* y,
                                                const T* ahead,
                                                Block (&sums)[kDotRows * kDotClasses]) {
  constexpr int64_t kCount = vectors_at_once(kDotRows * kDotClasses);
  Lanes kept[kDotRows][kDotClasses][kCount] = {};
  for (int64_t i = 0; i < numel; i += kPanelColumns) {
    for (int64_t j = 0; kFirst == 0 && j < kPanelColumns; j += kLine<T>)
      __builtin_prefetch(ahead + i + j, 0, 2);
    each<kCount>([&](auto v) {
      Lanes classes[kDotClasses];
      each<kDotClasses>(
          [&](auto c) { classes[c] = in_register(load(y + c * numel + i, kFirst + v)); });
      each<kDotRows>([&](auto r) {
        const Lanes row = in_register(load(x[r] + i, kFirst + v));
        each<kDotClasses>([&](auto c) { kept[r][c][v] += row * classes[c]; });
      });
    });
  }
  each<kDotRows * kDotClasses>([&](auto i) {
    each<kCount>(
        [&](auto v) { sums[i].vector[kFirst + v] = kept[i / kDotClasses][i % kDotClasses][v]; });
  });
}

}  // namespace

template <int64_t kRows, class T>
void multiply_panel(const Panel<T>& panel, int64_t tiles, const float* factors, float* sums) {
  constexpr int64_t kCount = vectors_at_once(kRows);
  static_assert(kVectors % kCount == 0);
  for (int64_t r = 0; panel.goes_on && r < tiles * kRows; ++r)
    put_in_vectors<T>(sums + r * kPanelColumns);
  for (int64_t begin = 0; begin < panel.count; begin += kNear<T>) {
    const int64_t end = std::min(begin + kNear<T>, panel.count);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t ahead = std::min(t, kPanelColumns / kLine<T> - 1);
      each<kVectors / kCount>([&](auto part) {
        add_rows<kRows, part * kCount>(panel, begin, end, ahead, factors + t * panel.count * kRows,
                                       sums + t * kRows * kPanelColumns);
      });
    }
  }
  for (int64_t r = 0; r < tiles * kRows; ++r) put_in_order<T>(sums + r * kPanelColumns);
}

template <class T>
float dot(int64_t numel, const T* x, const T* y) {
  Block sum = {};
  const auto add = [&](const T* a, const T* b) {
    each<kVectors>([&](auto v) { sum.vector[v] += load(a, v) * load(b, v); });
  };
  const int64_t whole = numel / kPanelColumns * kPanelColumns;
  for (int64_t i = 0; i < whole; i += kPanelColumns) add(x + i, y + i);
  if (whole < numel) {
    T last_x[kPanelColumns] = {}, last_y[kPanelColumns] = {};
    std::copy(x + whole, x + numel, last_x);
    std::copy(y + whole, y + numel, last_y);
    add(last_x, last_y);
  }
  float same[4];
  add_up(sum, sum, sum, sum, same);
  return same[0];
}

template <class T>
void dots(int64_t numel, const T* const* x, const T* y, const T* ahead, float* sums) {
  constexpr int64_t kCount = vectors_at_once(kDotRows * kDotClasses);
  static_assert(kVectors % kCount == 0 && kDotRows * kDotClasses % 4 == 0);
  Block blocks[kDotRows * kDotClasses];
  each<kVectors / kCount>(
      [&](auto part) { sum_products<part * kCount>(numel, x, y, ahead, blocks); });
  for (int64_t i = 0; i < kDotRows * kDotClasses; i += 4)
    add_up(blocks[i], blocks[i + 1], blocks[i + 2], blocks[i + 3], sums + i);
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
