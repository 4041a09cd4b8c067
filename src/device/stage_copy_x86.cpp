#include <emmintrin.h>

#include <cstddef>
#include <cstring>

#include "zero/device/copy.hpp"

namespace zero {
namespace {

constexpr int64_t kLine = 64, kPage = 4096;
/// Pages copied in turns, and bytes per turn of each page. A processor prefetches within each page,
/// so several pages keep more loads in flight than one.
constexpr int64_t kPages = 4, kTurn = 4 * kLine;

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

void stream_lines(std::byte* to, const std::byte* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) stream_line(to + i, from + i);
}

void stream_pages(std::byte* to, const std::byte* from) {
  for (int64_t turn = 0; turn < kPage; turn += kTurn) {
    for (int64_t i = turn; i < kPages * kPage; i += kPage) stream_lines(to + i, from + i, kTurn);
  }
}

}  // namespace

void stage_copy(void* to, const void* from, int64_t bytes) {
  auto* const out = static_cast<std::byte*>(to);
  const auto* const in = static_cast<const std::byte*>(from);
  const int64_t pages = bytes / (kPages * kPage) * (kPages * kPage), lines = bytes / kLine * kLine;
  for (int64_t i = 0; i < pages; i += kPages * kPage) stream_pages(out + i, in + i);
  stream_lines(out + pages, in + pages, lines - pages);
  std::memcpy(out + lines, in + lines, size_t(bytes - lines));
  // Streamed stores are not ordered with others, not even by a release.
  _mm_sfence();
}

}  // namespace zero
