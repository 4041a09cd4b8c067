#include <emmintrin.h>

#include <cstddef>
#include <cstring>

#include "src/comm/stage_copy.hpp"

namespace zero::comm {
namespace {

constexpr int64_t kLine = 64;

void stream_line(std::byte* to, const std::byte* from) {
  auto* const out = reinterpret_cast<__m128i*>(to);
  const auto* const in = reinterpret_cast<const __m128i*>(from);
  const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
  const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

}  // namespace

void stage_copy(void* to, const void* from, int64_t bytes) {
  auto* const out = static_cast<std::byte*>(to);
  const auto* const in = static_cast<const std::byte*>(from);
  const int64_t lines = bytes / kLine * kLine;
  for (int64_t i = 0; i < lines; i += kLine) stream_line(out + i, in + i);
  std::memcpy(out + lines, in + lines, size_t(bytes - lines));
  // Streamed stores are ordered with no other, not even with a release.
  _mm_sfence();
}

}  // namespace zero::comm
