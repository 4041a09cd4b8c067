#pragma once
/// Tables of the normal form C, as `tokenizers` 0.23.3 has them. Hangul follows a formula.

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero {

/// A range of marks of one combining class. Classes are numbered in their order, from 1.
struct MarkRange {
  uint32_t first = 0, last = 0, rank = 0;
};
/// A character that its two parts compose.
struct Composition {
  uint32_t composed = 0, first = 0, second = 0;
};

inline constexpr size_t kMarkRangeCount = 334, kCompositionCount = 940;
extern const std::array<MarkRange, kMarkRangeCount> kMarkRanges;        ///< ascending
extern const std::array<Composition, kCompositionCount> kCompositions;  ///< ascending

/// The characters that stay apart, each with one part and a zero, or two. Ascending. A part may
/// have parts.
inline constexpr size_t kApartCount = 1120, kApartWidth = 3;
extern const std::array<uint32_t, kApartCount * kApartWidth> kApart;

}  // namespace zero
