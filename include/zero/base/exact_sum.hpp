#pragma once
/// A sum of doubles that does not depend on the order or the partition of its terms.
/// Every finite double is an integer multiple of 2^-1074; it is cut into 32-bit digits and added to
/// 64-bit limbs, so up to 2^31 terms add without a carry, and accumulators themselves add as plain
/// integers (an all-reduce of int64 over ranks is exact).
/// Source: Kulisch's long accumulator; Neal 2015 (arXiv:1505.05571), with a carry-free limb.

#include <bit>
#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero {

struct ExactSum {
  static constexpr int kLimbs = 68;  ///< 2176 bits: 2^-1088 up to 2^1088
  static constexpr int kBias = 1088;

  int64_t limb[kLimbs];

  ZERO_HOST_DEVICE void clear() {
    for (int64_t& part : limb) part = 0;
  }

  /// Adds a finite double. The caller checks finiteness: infinity and NaN have no digits.
  ZERO_HOST_DEVICE void add(double value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    const int exponent = int((bits >> 52) & 0x7ff);
    const uint64_t fraction = bits & 0xfffffffffffffu;
    const uint64_t mantissa = exponent == 0 ? fraction : fraction | (uint64_t(1) << 52);
    // value = mantissa * 2^(max(exponent, 1) - 1075)
    const int position = (exponent == 0 ? 1 : exponent) - 1075 + kBias;
    const int first = position / 32, shift = position % 32;
    const uint64_t low = mantissa << shift;
    const uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);
    const int64_t sign = (bits >> 63) ? -1 : 1;
    limb[first] += sign * int64_t(low & 0xffffffffu);
    limb[first + 1] += sign * int64_t(low >> 32);
    limb[first + 2] += sign * int64_t(high);
  }

  ZERO_HOST_DEVICE void add(const ExactSum& other) {
    for (int i = 0; i < kLimbs; ++i) limb[i] += other.limb[i];
  }

  /// The sum rounded to a double: carries are resolved first, so equal sums give equal bits.
  ZERO_HOST_DEVICE double value() const;
};

ZERO_HOST_DEVICE inline double ExactSum::value() const {
  uint32_t digit[kLimbs];
  int64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const int64_t total = limb[i] + carry;
    digit[i] = uint32_t(total & 0xffffffff);
    carry = total >> 32;
  }
  const bool negative = carry < 0;
  if (negative) {  // two's complement to magnitude
    uint64_t borrow = 1;
    for (uint32_t& part : digit) {
      borrow += uint32_t(~part);
      part = uint32_t(borrow);
      borrow >>= 32;
    }
  }
  // Three digits below the leading one hold every bit that a double's rounding can see but one
  // sticky bit; both orders of terms see the same digits, so the result is a function of the sum.
  int top = kLimbs - 1;
  while (top > 0 && digit[top] == 0) --top;
  double sum = 0;
  for (int i = top; i >= 0 && i > top - 4; --i) {
    double weight = digit[i];
    for (int power = 32 * i - kBias; power != 0;) {
      const int part = power > 1000 ? 1000 : power < -1000 ? -1000 : power;
      weight *= std::bit_cast<double>(uint64_t(part + 1023) << 52);
      power -= part;
    }
    sum += weight;
  }
  return negative ? -sum : sum;
}

}  // namespace zero
