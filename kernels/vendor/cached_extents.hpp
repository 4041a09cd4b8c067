#pragma once
/// The rules for extents of attention with a cache, for hosts and GPUs.

#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels::vendor {

/// Throws Error(kInternal) for heads that do not share keys evenly, and for a window or a cap that
/// is none.
inline void require_fit(const CachedAttentionExtents& extents) {
  ZERO_REQUIRE(extents.heads > 0 && extents.heads % extents.heads_of_keys() == 0, "attention of ",
               extents.heads, " heads to ", extents.key_heads,
               " of keys: each head of keys wants as many heads of queries");
  ZERO_REQUIRE(extents.window >= 0 && extents.cap >= 0.0f, "a window of ", extents.window,
               " keys and a cap of ", extents.cap, ": both must be at least 0");
  ZERO_REQUIRE(extents.window == 0 || extents.keys == CachedKeys::past,
               "only attention of a text to its past has a window of keys");
  ZERO_REQUIRE(!extents.is_ring || (extents.window > 0 && extents.reach == 0 &&
                                    extents.columns >= extents.window + extents.rows - 1),
               "a ring of ", extents.columns, " keys for a window of ", extents.window, " and ",
               extents.rows, " rows: it keeps all keys that they see, without a bias");
}

}  // namespace zero::kernels::vendor
