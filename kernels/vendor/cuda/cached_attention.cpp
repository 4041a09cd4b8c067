#include "kernels/support/rows.hpp"
#include "kernels/vendor/cached_attention_block.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

const std::string kMove = "zero::move_keys";
const std::string kStore = "zero::cache_keys";
const std::string kAttend = "zero::cached_attention";

}  // namespace

int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int) {
  return extents.rows * extents.heads * extents.columns * int64_t(sizeof(float));
}

template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.columns % vendor::kCachePanel == 0, extents.rows,
               " rows with a cache of ", extents.columns, " tokens: at least 1, and whole panels");
  const vendor::KeyCache<T> cache{extents, inputs, arrays};
  if (arrays.moves != nullptr)
    for_each_row(stream, kMove, extents.caches, vendor::MoveTokens<T>{cache});
  if (arrays.stored.keys != nullptr) store_keys(stream, extents, inputs, arrays);
  for_each_row(stream, kAttend, extents.rows * extents.heads, vendor::AttendToTokens<T>(cache));
}

template <class T>
void store_keys(Stream& stream, const CachedAttentionExtents& extents, const DecodeInputs* inputs,
                const CachedAttentionArrays<T>& arrays) {
  const vendor::KeyCache<T> cache{extents, inputs, arrays};
  for_each_element(stream, kStore, extents.rows * cache.width(), vendor::StoreTokens<T>{cache});
}

template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<float>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<bf16>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<f16>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<float>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<bf16>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<f16>&);

}  // namespace zero::kernels
