#pragma once
/// Rows of chunks that continue texts.

#include <vector>

#include "zero/kernels/step_state.hpp"

namespace zero::testing {

/// `count` tokens of text 0, from a position on.
inline std::vector<kernels::ChunkRow> rows_from(int64_t position, int64_t count) {
  std::vector<kernels::ChunkRow> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back({.text = 0, .position = int32_t(position + i)});
  return rows;
}

}  // namespace zero::testing
