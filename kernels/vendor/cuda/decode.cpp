#include "zero/kernels/decode.hpp"

#include "kernels/support/rows.hpp"
#include "kernels/vendor/cached_extents.hpp"
#include "kernels/vendor/decode_block.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kMove = "zero::move_keys";
const std::string kStore = "zero::cache_keys";
const std::string kAttend = "zero::cached_attention";
const std::string kRowProduct = "zero::row_product";
const std::string kTableProduct = "zero::table_product";

}  // namespace

int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int) {
  return extents.rows * extents.heads * extents.columns * int64_t(sizeof(float));
}

template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.columns % vendor::kCachePanel == 0, extents.rows,
               " rows with a cache of ", extents.columns, " tokens: at least 1, and whole panels");
  vendor::require_fit(extents);
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

int64_t row_product_scratch_numel(const RowProductExtents&) { return 0; }

template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.in > 0 && extents.out > 0, "product of ", extents.rows,
               " rows with ", extents.in, " x ", extents.out, ": every extent must be at least 1");
  for_each_element(stream, kRowProduct, extents.rows * extents.out,
                   vendor::RowProduct<T>{extents, arrays});
}

template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays) {
  ZERO_REQUIRE(classes > 0 && width > 0, "product with a table of ", classes, " x ", width,
               ": both must be at least 1");
  for_each_row(stream, kTableProduct, classes,
               vendor::TableProduct<T>{classes, width, inputs, arrays});
}

template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<float>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<bf16>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<f16>&);
template void table_product(Stream&, int64_t, int64_t, const DecodeInputs*,
                            const TableProductArrays<float>&);
template void table_product(Stream&, int64_t, int64_t, const DecodeInputs*,
                            const TableProductArrays<bf16>&);
template void table_product(Stream&, int64_t, int64_t, const DecodeInputs*,
                            const TableProductArrays<f16>&);

}  // namespace zero::kernels
