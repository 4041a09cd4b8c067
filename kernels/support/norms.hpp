#pragma once
/// Shared parts of layer norm and RMS norm: checks, and their blocks on a GPU.

#include <algorithm>
#include <initializer_list>
#include <string>

#include "kernels/support/norm_block.hpp"
#include "kernels/support/rows.hpp"
#include "kernels/vendor/row_kernels.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {

inline void require_norm(const NormExtents& extents, const char* name) {
  ZERO_REQUIRE(extents.rows >= 1 && extents.width >= 1, name, " of ", extents.rows, " x ",
               extents.width, ": both must be at least 1");
}

/// Returns what is added to weights. -0 instead of 0 leaves every weight as it is, also -0.
inline float offset_of(float offset) { return offset == 0.0f ? -0.0f : offset; }

/// True if rows and arrays, of which some may be null, can be read in whole runs.
template <class T>
bool takes_whole_runs(int64_t width, std::initializer_list<const T*> arrays) {
  bool all = width % kRunNumel == 0;
  for (const T* array : arrays) all = all && takes_runs(array);
  return all;
}

/// Returns the most chunks of rows that a gradient sums apart.
inline int64_t most_chunks(const NormExtents& extents) {
  const int64_t chunks = RowChunks{extents.rows}.count();
  return kHostSpace ? chunks : std::max<int64_t>(chunks, norm_grad_shape(extents).chunks);
}

/// Queues a NormForwardBlock or an RmsForwardBlock.
template <class Code>
void launch_forward(Stream& stream, const std::string& label, const Code& code) {
  launch_blocks<kNormWarps * kWarpLanes>(stream, label, code.blocks(), code);
}

/// Queues a NormGradBlock or an RmsGradBlock. Returns the number of chunks.
template <class Code>
int64_t launch_backward(Stream& stream, const std::string& label, const Code& code) {
  launch_blocks<kNormGradWarps * kWarpLanes>(stream, label, code.chunks.count(), code);
  return code.chunks.count();
}

}  // namespace zero::kernels
