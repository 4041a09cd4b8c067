#include <emmintrin.h>

#include "src/train/stream_join.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::train {
namespace {

constexpr size_t kNumel = 8;

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

/// Weights become the upper halves, rests are added with their signs.
void join(const bf16* weight, const int16_t* rest, float* master) {
  const __m128i upper = load(weight), lower = load(rest), zero = _mm_setzero_si128();
  const __m128i first = _mm_srai_epi32(_mm_unpacklo_epi16(zero, lower), 16);
  const __m128i last = _mm_srai_epi32(_mm_unpackhi_epi16(zero, lower), 16);
  auto* const out = reinterpret_cast<__m128i*>(master);
  _mm_stream_si128(out, _mm_add_epi32(_mm_unpacklo_epi16(zero, upper), first));
  _mm_stream_si128(out + 1, _mm_add_epi32(_mm_unpackhi_epi16(zero, upper), last));
}

}  // namespace

void stream_join(std::span<const bf16> weight, std::span<const int16_t> rest, float* master) {
  size_t i = 0;
  for (; i + kNumel <= weight.size(); i += kNumel) join(&weight[i], &rest[i], master + i);
  for (; i < weight.size(); ++i) master[i] = kernels::join_master(weight[i], rest[i]);
  // Streamed stores are ordered with no other, not even with a release.
  _mm_sfence();
}

}  // namespace zero::train
