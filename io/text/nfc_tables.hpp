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
/// A character that is always written as another one.
struct Replacement {
  uint32_t code_point = 0, by = 0;
};
/// A character that stays apart. Its parts end with a zero.
struct Decomposition {
  uint32_t code_point = 0;
  std::array<uint32_t, 3> parts = {};
};

inline constexpr size_t kMarkRangeCount = 334, kCompositionCount = 940;
inline constexpr size_t kReplacementCount = 1017, kDecompositionCount = 103;
// All ascend.
extern const std::array<MarkRange, kMarkRangeCount> kMarkRanges;
extern const std::array<Composition, kCompositionCount> kCompositions;
extern const std::array<Replacement, kReplacementCount> kReplacements;
extern const std::array<Decomposition, kDecompositionCount> kDecompositions;

}  // namespace zero
