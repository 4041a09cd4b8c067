#pragma once
/// Norms of heads by rows: a row, or a chunk of rows, a thread of the host; a norm a team of a
/// device, for heads that are no whole runs and for norms over all heads.

#include <cmath>

#include "kernels/support/rows.hpp"
#include "zero/kernels/head_norm.hpp"

namespace zero::kernels {

/// Returns the chunks of rows whose gradients of weights are summed apart.
inline RowChunks head_norm_chunks(const HeadNormExtents& extents) {
  return RowChunks{extents.packed.rows};
}

/// The columns of a norm, and its weight.
template <class T>
struct NormColumns {
  int64_t begin, width;
  const T* weight;

  ZERO_HOST_DEVICE NormColumns(const HeadNormExtents& of, const T* query_weight,
                               const T* key_weight, int64_t norm) {
    const bool is_query = norm < of.query_norms();
    const int64_t queries = of.packed.heads * of.packed.head_width;
    width = is_query ? of.query_width() : of.key_width();
    begin = is_query ? norm * width : queries + (norm - of.query_norms()) * width;
    weight = is_query ? query_weight : key_weight;
  }
};

/// Copies a row's values.
template <class R, class T>
KOKKOS_INLINE_FUNCTION void copy_values(const R& row, const PackedHeads& of, const T* x, T* y) {
  const int64_t first = of.heads_before_values() * of.head_width;
  row.for_each(of.columns() - first, [=](int64_t j) { y[first + j] = x[first + j]; });
}

template <class T>
struct HeadNormForward {
  HeadNormExtents extents;
  HeadNormArrays<T> arrays;

  /// Returns the items of teams: norms, and values as one more.
  int64_t items() const { return extents.packed.rows * (extents.norms() + 1); }

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t r) const {
    for (int64_t norm = 0; norm < extents.norms(); ++norm) write(row, r, norm);
    write_values(row, r);
  }
  KOKKOS_FUNCTION void operator()(const TeamRow& row, int64_t item) const {
    const int64_t in_row = extents.norms() + 1, r = item / in_row, norm = item - r * in_row;
    if (norm < extents.norms())
      write(row, r, norm);
    else
      write_values(row, r);
  }

 private:
  template <class R>
  KOKKOS_INLINE_FUNCTION void write(const R& row, int64_t r, int64_t norm) const {
    const NormColumns<T> of(extents, arrays.query_weight, arrays.key_weight, norm);
    const int64_t first = r * extents.packed.columns() + of.begin, width = of.width;
    const T* const x = arrays.x + first;
    const T* const weight = of.weight;
    const float offset = arrays.offset;
    const float squares =
        row.template sum<float>(width, [=](int64_t j) { return float(x[j]) * float(x[j]); });
    const float rrms = 1.0f / std::sqrt(squares / float(width) + arrays.epsilon);
    row.write(width, arrays.y + first,
              [=](int64_t j) { return float(x[j]) * rrms * (offset + float(weight[j])); });
    row.once([&] { arrays.rrms[r * extents.norms() + norm] = rrms; });
  }
  template <class R>
  KOKKOS_INLINE_FUNCTION void write_values(const R& row, int64_t r) const {
    const int64_t first = r * extents.packed.columns();
    copy_values(row, extents.packed, arrays.x + first, arrays.y + first);
  }
};

/// Writes dx of norms: rrms (h - xhat mean(h xhat)),  h = dy (offset + weight),  xhat = x rrms
template <class T>
struct HeadNormDx {
  HeadNormExtents extents;
  HeadNormGradArrays<T> arrays;

  int64_t items() const { return extents.packed.rows * (extents.norms() + 1); }

  KOKKOS_FUNCTION void operator()(const TeamRow& row, int64_t item) const {
    const int64_t in_row = extents.norms() + 1, r = item / in_row, norm = item - r * in_row;
    if (norm < extents.norms())
      write(row, r, norm);
    else
      write_values(row, r);
  }
  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t r) const {
    for (int64_t norm = 0; norm < extents.norms(); ++norm) write(row, r, norm);
    write_values(row, r);
  }

 private:
  template <class R>
  KOKKOS_INLINE_FUNCTION void write(const R& row, int64_t r, int64_t norm) const {
    const NormColumns<T> of(extents, arrays.query_weight, arrays.key_weight, norm);
    const int64_t first = r * extents.packed.columns() + of.begin, width = of.width;
    const T* const dy = arrays.dy + first;
    const T* const x = arrays.x + first;
    const T* const weight = of.weight;
    const float offset = arrays.offset, rrms = arrays.rrms[r * extents.norms() + norm];
    const float along = row.template sum<float>(width, [=](int64_t j) {
      return float(dy[j]) * (offset + float(weight[j])) * (float(x[j]) * rrms);
    }) / float(width);
    row.write(width, arrays.dx + first, [=](int64_t j) {
      const float h = float(dy[j]) * (offset + float(weight[j]));
      return (h - float(x[j]) * rrms * along) * rrms;
    });
  }
  template <class R>
  KOKKOS_INLINE_FUNCTION void write_values(const R& row, int64_t r) const {
    const int64_t first = r * extents.packed.columns();
    copy_values(row, extents.packed, arrays.dy + first, arrays.dx + first);
  }
};

/// The gradients of a chunk of rows, by one thread of the host. Adds to the weights' sums,
/// [weights()] of the scratch, while a row is in cache, norm by norm.
template <class T>
struct HeadNormChunks {
  HeadNormExtents extents;
  RowChunks chunks;
  HeadNormGradArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t chunk) const {
    float* const sums = arrays.scratch + chunk * extents.weights();
    row.for_each(extents.weights(), [=](int64_t j) { sums[j] = 0; });
    const HeadNormDx<T> dx{extents, arrays};
    const Interval range = chunks[chunk];
    for (int64_t r = range.begin; r < range.end; ++r) {
      for (int64_t norm = 0; norm < extents.norms(); ++norm) add(row, r, norm, sums);
      dx(row, r);
    }
  }

 private:
  KOKKOS_INLINE_FUNCTION void add(const HostRow& row, int64_t r, int64_t norm, float* sums) const {
    const NormColumns<T> of(extents, arrays.query_weight, arrays.key_weight, norm);
    const int64_t first = r * extents.packed.columns() + of.begin;
    const T* const dy = arrays.dy + first;
    const T* const x = arrays.x + first;
    const float rrms = arrays.rrms[r * extents.norms() + norm];
    float* const to = norm < extents.query_norms() ? sums : sums + extents.query_width();
    row.for_each(of.width, [=](int64_t j) { to[j] += float(dy[j]) * (float(x[j]) * rrms); });
  }
};

/// The sums of HeadNormChunks with their bits, a column of a chunk a thread of a device.
template <class T>
struct HeadNormColumns {
  HeadNormExtents extents;
  RowChunks chunks;
  HeadNormGradArrays<T> arrays;

  int64_t items() const { return chunks.count() * extents.weights(); }

  KOKKOS_FUNCTION void operator()(int64_t item) const {
    const int64_t chunk = item / extents.weights(), j = item - chunk * extents.weights();
    const bool is_query = j < extents.query_width();
    const int64_t begin = is_query ? 0 : extents.query_norms();
    const int64_t end = is_query ? extents.query_norms() : extents.norms();
    const int64_t column = is_query ? j : j - extents.query_width();
    const Interval range = chunks[chunk];
    float sum = 0;
    for (int64_t r = range.begin; r < range.end; ++r) {
      for (int64_t norm = begin; norm < end; ++norm) {
        const NormColumns<T> of(extents, arrays.query_weight, arrays.key_weight, norm);
        const int64_t at = r * extents.packed.columns() + of.begin + column;
        sum +=
            float(arrays.dy[at]) * (float(arrays.x[at]) * arrays.rrms[r * extents.norms() + norm]);
      }
    }
    arrays.scratch[item] = sum;
  }
};

}  // namespace zero::kernels
