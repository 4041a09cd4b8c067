#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "zero/base/error.hpp"

namespace zero {

/// The extents of a tensor, row-major, at most four. An empty shape is a scalar.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    ZERO_REQUIRE(extents.size() <= kMaxRank, "shape of ", extents.size(), " extents: at most 4");
    for (int64_t extent : extents) extent_[rank_++] = extent;
  }

  int rank() const { return rank_; }
  /// Returns extent `i`. Negative `i` counts from the last: [-1] is the fastest.
  int64_t operator[](int i) const { return extent_[i < 0 ? rank_ + i : i]; }
  int64_t& operator[](int i) { return extent_[i < 0 ? rank_ + i : i]; }
  /// Returns the count of elements, the product of all extents.
  int64_t numel() const {
    int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= extent_[i];
    return product;
  }
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxRank> extent_{};
  int rank_ = 0;
};

/// The lengths of a sample's two texts in tokens, as they are or padded. A sample of one text has a
/// source of 0 tokens.
struct LengthPair {
  int64_t source = 0, target = 0;

  int64_t tokens() const { return source + target; }
  /// True if neither text of `other` is longer than this pair's.
  bool covers(const LengthPair& other) const {
    return other.source <= source && other.target <= target;
  }
  bool operator==(const LengthPair&) const = default;
};

/// Returns the extents of a shape as text: "[50257, 768]".
inline std::string to_text(const Shape& shape) {
  std::string out = "[";
  for (int i = 0; i < shape.rank(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

}  // namespace zero
