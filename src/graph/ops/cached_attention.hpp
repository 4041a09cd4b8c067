#pragma once

#include "zero/graph/builder.hpp"

namespace zero::graph {

/// What attention() adds where a text is continued, with a cache of its own.
TensorId cached_attention(GraphBuilder& out, TensorId qkv, int64_t heads);

}  // namespace zero::graph
