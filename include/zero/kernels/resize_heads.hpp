#pragma once

#include <cstdint>

#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Heads that lie behind each other, before and after.
struct HeadWidths {
  int64_t heads;  ///< of all rows
  int64_t from, to;
};

/// to[h, j] = from[h, j], or 0 where `from` has no column j; columns beyond those of `to` are left
/// behind. from [heads, widths.from], to [heads, widths.to]; T is float, bf16 or f16. Asynchronous
/// on `stream`.
template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to);

}  // namespace zero::kernels
