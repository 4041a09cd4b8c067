#pragma once
/// A sum of doubles that does not depend on the order or the partition of its terms. Every finite
/// double is an integer multiple of 2^-1074. It is cut into 32-bit digits, which are added to
/// 64-bit limbs, so 2^31 terms add without a carry. Accumulators add as plain integers (an
/// all-reduce of int64 over ranks is exact).
/// Source: Kulisch's long accumulator; Neal 2015 (arXiv:1505.05571), with a carry-free limb.

#include <bit>
#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero {

struct ExactSum {
  static constexpr int kLimbs = 68;  ///< 2176 bits: 2^-1088 up to 2^1088
  static constexpr int kBias = 1088;

  int64_t limb[kLimbs];

  /// Sets this sum to 0.
  ZERO_HOST_DEVICE void clear() {
    for (int64_t& part : limb) part = 0;
  }

  /// The digits of one double. They are added to limbs [first, first + 3).
  struct Digits {
    int first;
    int64_t part[3];
  };

  /// Returns the digits of `value`. REQUIRES: it is finite.
  ZERO_HOST_DEVICE static Digits digits_of(double value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    const int exponent = int((bits >> 52) & 0x7ff);
    const uint64_t fraction = bits & 0xfffffffffffffu;
    const uint64_t mantissa = exponent == 0 ? fraction : fraction | (uint64_t(1) << 52);
    // value = mantissa * 2^(max(exponent, 1) - 1075)
    const int position = (exponent == 0 ? 1 : exponent) - 1075 + kBias;
    const int shift = position % 32;
    const uint64_t low = mantissa << shift;
    const uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);
    const int64_t sign = (bits >> 63) ? -1 : 1;
    return {position / 32,
            {sign * int64_t(low & 0xffffffffu), sign * int64_t(low >> 32), sign * int64_t(high)}};
  }

  /// Adds a finite double to this sum.
  ZERO_HOST_DEVICE void add(double finite) {
    const Digits digits = digits_of(finite);
    for (int i = 0; i < 3; ++i) limb[digits.first + i] += digits.part[i];
  }

  /// Adds all terms of another sum to this sum.
  ZERO_HOST_DEVICE void add(const ExactSum& other) {
    for (int i = 0; i < kLimbs; ++i) limb[i] += other.limb[i];
  }

  /// Returns this sum, rounded once to the nearest double, ties to even. Infinity if it is too
  /// large.
  ZERO_HOST_DEVICE double value() const;

 private:
  /// Writes the digits of the magnitude, lowest first. True if the sum is negative.
  ZERO_HOST_DEVICE bool magnitude(uint32_t* digit) const;
};

ZERO_HOST_DEVICE inline bool ExactSum::magnitude(uint32_t* digit) const {
  int64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const int64_t total = limb[i] + carry;
    digit[i] = uint32_t(total & 0xffffffff);
    carry = total >> 32;
  }
  if (carry >= 0) return false;
  uint64_t borrow = 1;  // two's complement to magnitude
  for (int i = 0; i < kLimbs; ++i) {
    borrow += uint32_t(~digit[i]);
    digit[i] = uint32_t(borrow);
    borrow >>= 32;
  }
  return true;
}

ZERO_HOST_DEVICE inline double ExactSum::value() const {
  uint32_t digit[kLimbs];
  const bool negative = magnitude(digit);
  int top = kLimbs - 1;
  while (top > 2 && digit[top] == 0) --top;
  // The window has the leading 64 bits, with the lowest set if any bit below is set. A single
  // conversion then rounds the sum. A subnormal sum has fewer than 53 bits and needs no rounding.
  uint64_t window = (uint64_t(digit[top]) << 32) | digit[top - 1];
  uint64_t below = uint64_t(digit[top - 2]) << 32;
  int exponent = 32 * (top - 1) - kBias;
  while (window >> 63 == 0 && (window | below) != 0) {
    window = (window << 1) | (below >> 63);
    below <<= 1;
    --exponent;
  }
  bool sticky = below != 0;
  for (int i = 0; i < top - 2; ++i) sticky = sticky || digit[i] != 0;
  double sum = double(window | uint64_t(sticky));
  while (exponent != 0) {
    const int part = exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent;
    sum *= std::bit_cast<double>(uint64_t(part + 1023) << 52);
    exponent -= part;
  }
  return negative ? -sum : sum;
}

}  // namespace zero
