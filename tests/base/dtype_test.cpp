// Ranks: 1

#include "zero/base/dtype.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace zero {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The value of a 16-bit pattern, from the definition of the format.
double defined_value(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const double fraction = double(bits & ((1u << mantissa_bits) - 1));
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1u << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa_bits);
  return sign * std::ldexp(1.0 + std::ldexp(fraction, -mantissa_bits), int(exponent) - bias);
}

struct Half {
  static float value(uint16_t bits) { return f16_value(bits); }
  static uint16_t round(float value) { return f16_bits(value); }
  static constexpr int kExponentBits = 5, kMantissaBits = 10;
  static constexpr uint16_t kInfinityBits = 0x7c00, kQuietNaN = 0x7e00;
};

struct Brain {
  static float value(uint16_t bits) { return bf16_value(bits); }
  static uint16_t round(float value) { return bf16_bits(value); }
  static constexpr int kExponentBits = 8, kMantissaBits = 7;
  static constexpr uint16_t kInfinityBits = 0x7f80, kQuietNaN = 0x7fc0;
};

template <class Format>
class SixteenBits : public ::testing::Test {};
using Formats = ::testing::Types<Half, Brain>;
TYPED_TEST_SUITE(SixteenBits, Formats);

TYPED_TEST(SixteenBits, EveryPatternHasTheValueThatTheFormatDefines) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = defined_value(bits, TypeParam::kExponentBits, TypeParam::kMantissaBits);
    const double value = TypeParam::value(uint16_t(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      EXPECT_EQ(value, expected) << bits;
      EXPECT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    }
  }
}

TYPED_TEST(SixteenBits, EveryPatternSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = TypeParam::value(uint16_t(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(TypeParam::round(value), bits);
  }
}

TYPED_TEST(SixteenBits, HalfwayBetweenNeighboursRoundsToTheEvenOne) {
  for (uint32_t bits = 0; bits + 1 < TypeParam::kInfinityBits; ++bits) {
    const float low = TypeParam::value(uint16_t(bits)), high = TypeParam::value(uint16_t(bits + 1));
    const float middle = float((double(low) + double(high)) / 2);
    const uint16_t even = uint16_t(bits + (bits & 1));
    EXPECT_EQ(TypeParam::round(middle), even) << bits;
    EXPECT_EQ(TypeParam::round(std::nextafter(middle, 0.0f)), bits);
    EXPECT_EQ(TypeParam::round(std::nextafter(middle, kInfinity)), bits + 1);
    EXPECT_EQ(TypeParam::round(-middle), even | 0x8000) << bits;
  }
}

TYPED_TEST(SixteenBits, NaNStaysAQuietNaN) {
  for (uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u}) {
    const uint16_t rounded = TypeParam::round(std::bit_cast<float>(bits));
    EXPECT_EQ(rounded & 0x7fff, TypeParam::kQuietNaN);
  }
}

TEST(Half, OverflowsAt65520) {
  EXPECT_EQ(f16_bits(65504.0f), 0x7bff);
  EXPECT_EQ(f16_bits(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f16_bits(65520.0f), 0x7c00);
  EXPECT_EQ(f16_bits(-kInfinity), 0xfc00);
}

TEST(Brain, TheLargestFloatsRoundToInfinity) {
  EXPECT_EQ(bf16_bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16_bits(-kInfinity), 0xff80);
}

TEST(Dtype, BytesAndNamesBelongToTheType) {
  EXPECT_EQ(bytes_of(dtype_of<float>()), sizeof(float));
  EXPECT_EQ(bytes_of(dtype_of<bf16>()), sizeof(bf16));
  EXPECT_EQ(name_of(dtype_of<f16>()), "fp16");
  EXPECT_EQ(bytes_of(Dtype::i64), 8u);
}

}  // namespace
}  // namespace zero
