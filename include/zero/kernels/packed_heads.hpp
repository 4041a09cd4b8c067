#pragma once

#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero::kernels {

/// Rows with heads side by side: `heads` of queries, then `key_heads` of keys and `key_heads` of
/// values.
struct PackedHeads {
  int64_t rows;
  int64_t heads, key_heads;
  int64_t head_width;

  ZERO_HOST_DEVICE constexpr int64_t heads_in_row() const { return heads + 2 * key_heads; }
  /// Returns the heads of queries and keys.
  ZERO_HOST_DEVICE constexpr int64_t heads_before_values() const { return heads + key_heads; }
  ZERO_HOST_DEVICE constexpr int64_t columns() const { return heads_in_row() * head_width; }
};

}  // namespace zero::kernels
