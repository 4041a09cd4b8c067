#include "zero/kernels/rotate.hpp"

#include <cmath>

#include "kernels/support/elements.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::rotate", kBackward = "zero::rotate_backward";

/// A rotation by angles times `sign`.
template <class T>
struct Rotation {
  RotateExtents extents;
  RotateArrays<T> arrays;
  float sign;

  /// Returns the position of a row; -1 for padding of a chunk.
  KOKKOS_INLINE_FUNCTION int64_t position(int64_t row) const {
    if (arrays.chunk != nullptr)
      return row < arrays.chunk->rows ? arrays.rows[row].position : int64_t(-1);
    const int64_t place = row % extents.length;
    return arrays.first == nullptr ? place : place - arrays.first[row];
  }
  /// Returns the cosines of a head, with the sines behind; null for heads of values.
  KOKKOS_INLINE_FUNCTION const float* turns(int64_t position, int64_t head) const {
    if (head >= extents.packed.heads_before_values()) return nullptr;
    const float* const table = head < extents.packed.heads ? arrays.query_table : arrays.key_table;
    return table + position * 2 * extents.pairs;
  }
};

/// A row, on a thread of the host.
template <class T>
struct RotateRow {
  Rotation<T> rotation;

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t r) const {
    const RotateExtents& of = rotation.extents;
    const int64_t width = of.packed.head_width, columns = of.packed.columns();
    const T* const x = rotation.arrays.x + r * columns;
    T* const y = rotation.arrays.y + r * columns;
    const int64_t position = rotation.position(r);
    if (position < 0) return row.for_each(columns, [=](int64_t j) { y[j] = T(0.0f); });
    const int64_t turning = of.packed.heads_before_values();
    for (int64_t head = 0; head < turning; ++head)
      turn(row, x + head * width, y + head * width, rotation.turns(position, head));
    const int64_t values = turning * width;
    row.for_each(columns - values, [=](int64_t j) { y[values + j] = x[values + j]; });
  }

 private:
  KOKKOS_INLINE_FUNCTION void turn(const HostRow& row, const T* x, T* y,
                                   const float* cosines) const {
    const int64_t pairs = rotation.extents.pairs, rest = 2 * pairs;
    const float* const sines = cosines + pairs;
    const float sign = rotation.sign;
    row.for_each(pairs, [=](int64_t i) {
      const float a = float(x[i]), b = float(x[i + pairs]), sine = sign * sines[i];
      y[i] = T(std::fma(a, cosines[i], -(b * sine)));
      y[i + pairs] = T(std::fma(b, cosines[i], a * sine));
    });
    row.for_each(rotation.extents.packed.head_width - rest,
                 [=](int64_t j) { y[rest + j] = x[rest + j]; });
  }
};

/// Consecutive elements that a thread of a device moves at once.
template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Group {
  T at[kCount];
};

/// Two groups of columns of a head, by a thread of a device: a group and the one that it turns
/// with, or two that are copied.
template <class T, int kCount>
struct RotateGroups {
  Rotation<T> rotation;

  KOKKOS_FUNCTION void operator()(int64_t item) const {
    const RotateExtents& of = rotation.extents;
    const auto of_head = uint32_t(of.packed.head_width / (2 * kCount));
    const uint32_t all = uint32_t(item) / of_head, group = uint32_t(item) - all * of_head;
    const uint32_t row = all / uint32_t(of.packed.heads_in_row());
    const uint32_t head = all - row * uint32_t(of.packed.heads_in_row());
    const int64_t position = rotation.position(row), begin = int64_t(all) * of.packed.head_width;
    const int64_t column = int64_t(group) * kCount;
    if (position < 0) return clear(begin + 2 * column);
    const float* const cosines = rotation.turns(position, head);
    if (cosines == nullptr) return copy(begin + 2 * column);
    if (column >= of.pairs) return copy(begin + 2 * column);
    turn(begin + column, cosines + column);
  }

 private:
  using Elements = Group<T, kCount>;
  using Numbers = Group<float, kCount>;

  template <class E, class A>
  KOKKOS_INLINE_FUNCTION static E load(const A* array, int64_t first) {
    return *reinterpret_cast<const E*>(array + first);
  }
  KOKKOS_INLINE_FUNCTION void store(int64_t first, const Elements& group) const {
    *reinterpret_cast<Elements*>(rotation.arrays.y + first) = group;
  }
  KOKKOS_INLINE_FUNCTION void clear(int64_t first) const {
    Elements zeros;
    for (int k = 0; k < kCount; ++k) zeros.at[k] = T(0.0f);
    store(first, zeros);
    store(first + kCount, zeros);
  }
  KOKKOS_INLINE_FUNCTION void copy(int64_t first) const {
    const auto a = load<Elements>(rotation.arrays.x, first);
    const auto b = load<Elements>(rotation.arrays.x, first + kCount);
    store(first, a);
    store(first + kCount, b);
  }
  KOKKOS_INLINE_FUNCTION void turn(int64_t first, const float* cosines) const {
    const int64_t pairs = rotation.extents.pairs;
    const auto a = load<Elements>(rotation.arrays.x, first);
    const auto b = load<Elements>(rotation.arrays.x, first + pairs);
    const auto cosine = load<Numbers>(cosines, 0), sine = load<Numbers>(cosines, pairs);
    Elements front, back;
    for (int k = 0; k < kCount; ++k) {
      const float p = float(a.at[k]), q = float(b.at[k]), s = rotation.sign * sine.at[k];
      front.at[k] = T(std::fma(p, cosine.at[k], -(q * s)));
      back.at[k] = T(std::fma(q, cosine.at[k], p * s));
    }
    store(first, front);
    store(first + pairs, back);
  }
};

/// True if all groups of kCount elements are aligned and none lies across the end of the pairs.
template <int kCount, class T>
bool takes_groups(const RotateExtents& extents, const RotateArrays<T>& arrays) {
  const auto is_aligned = [](const void* array) {
    return reinterpret_cast<uintptr_t>(array) % 16 == 0;
  };
  return extents.pairs % kCount == 0 && extents.packed.head_width % (2 * kCount) == 0 &&
         is_aligned(arrays.x) && is_aligned(arrays.y) && is_aligned(arrays.query_table) &&
         is_aligned(arrays.key_table);
}

template <int kCount, class T>
void rotate_groups(Stream& stream, const std::string& label, const Rotation<T>& rotation) {
  const PackedHeads& packed = rotation.extents.packed;
  const int64_t items = packed.rows * packed.columns() / (2 * kCount);
  ZERO_REQUIRE(items <= UINT32_MAX, "a rotation of ", items, " groups of columns: at most 2^32");
  for_each_element(stream, label, items, RotateGroups<T, kCount>{rotation});
}

template <class T>
void rotate_by(Stream& stream, const std::string& label, const Rotation<T>& rotation) {
  const RotateExtents& of = rotation.extents;
  ZERO_REQUIRE(of.packed.rows >= 1 && of.packed.heads >= 1 && of.packed.key_heads >= 0 &&
                   of.length >= 1 && of.pairs >= 1 && of.packed.head_width % 2 == 0 &&
                   2 * of.pairs <= of.packed.head_width,
               "a rotation of ", of.pairs, " pairs of columns in heads of ", of.packed.head_width,
               ": at most half of an even width");
  if constexpr (kHostSpace) {
    for_each_row(stream, label, of.packed.rows, RotateRow<T>{rotation});
  } else if (takes_groups<8>(of, rotation.arrays)) {
    rotate_groups<8>(stream, label, rotation);
  } else {
    rotate_groups<1>(stream, label, rotation);
  }
}

}  // namespace

template <class T>
void rotate(Stream& stream, const RotateExtents& extents, const RotateArrays<T>& arrays) {
  rotate_by(stream, kForward, Rotation<T>{extents, arrays, 1.0f});
}

template <class T>
void rotate_backward(Stream& stream, const RotateExtents& extents, const RotateArrays<T>& arrays) {
  rotate_by(stream, kBackward, Rotation<T>{extents, arrays, -1.0f});
}

template void rotate(Stream&, const RotateExtents&, const RotateArrays<float>&);
template void rotate(Stream&, const RotateExtents&, const RotateArrays<bf16>&);
template void rotate(Stream&, const RotateExtents&, const RotateArrays<f16>&);
template void rotate_backward(Stream&, const RotateExtents&, const RotateArrays<float>&);
template void rotate_backward(Stream&, const RotateExtents&, const RotateArrays<bf16>&);
template void rotate_backward(Stream&, const RotateExtents&, const RotateArrays<f16>&);

}  // namespace zero::kernels
