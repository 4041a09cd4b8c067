#pragma once
/// Element types and 16-bit storage types. Arithmetic is fp32. Loads convert 16-bit values and
/// stores round them. Host and device agree on all values but NaN, because a GPU has only one NaN.
/// A GPU converts by its own instructions: the host's arithmetic would slow its kernels by up to a
/// fifth. Conversions are always inlined, because a host loop with calls does not vectorise.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "zero/base/error.hpp"
#include "zero/base/portable.hpp"

namespace zero {

enum class Dtype : uint8_t { f32, bf16, f16, f64, i64, i32, i16, u8 };

/// Returns the bytes of an element of this type.
constexpr size_t bytes_of(Dtype dtype) {
  constexpr size_t kBytes[] = {4, 2, 2, 8, 8, 4, 2, 1};
  return kBytes[size_t(dtype)];
}

/// Returns the name for texts: "fp32", "i64".
constexpr std::string_view name_of(Dtype dtype) {
  constexpr std::string_view kNames[] = {"fp32", "bf16", "fp16", "fp64", "i64", "i32", "i16", "u8"};
  return kNames[size_t(dtype)];
}

// Converts by a GPU's own instructions, which turn every NaN into 0x7fff.
#ifdef __CUDA_ARCH__
inline constexpr bool kNativeHalves = true;
__device__ inline uint16_t native_bf16_bits(float value) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
__device__ inline uint16_t native_f16_bits(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
__device__ inline float native_f16_value(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
#else
inline constexpr bool kNativeHalves = false;
constexpr uint16_t native_bf16_bits(float) { return 0; }
constexpr uint16_t native_f16_bits(float) { return 0; }
constexpr float native_f16_value(uint16_t) { return 0; }
#endif

/// Returns the bfloat16 bits of an fp32 value, rounded to nearest, ties to even. On the host NaN
/// becomes the quiet NaN 0x7fc0 with its sign.
ZERO_HOST_DEVICE ZERO_INLINE constexpr uint16_t bf16_bits(float value) {
  if (kNativeHalves && !std::is_constant_evaluated()) return native_bf16_bits(value);
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool nan = value != value;  // saves an instruction over a test of the bits
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return uint16_t(nan ? ((bits >> 16) & 0x8000u) | 0x7fc0u : rounded);
}

/// Returns the fp32 value of bfloat16 bits, which is exact.
ZERO_HOST_DEVICE ZERO_INLINE constexpr float bf16_value(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Returns the IEEE half bits of an fp32 value, rounded to nearest, ties to even. Values from 65520
/// on become infinity.
ZERO_HOST_DEVICE ZERO_INLINE constexpr uint16_t f16_bits(float value) {
  if (kNativeHalves && !std::is_constant_evaluated()) return native_f16_bits(value);
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal halves: re-bias the exponent by 112 and round away 13 bits of mantissa.
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  // Subnormal halves: adding 0.5 lines the mantissa up at 2^-24, and the addition rounds.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return uint16_t(sign | (magnitude >= 0x477ff000u ? special : finite));
}

/// Returns the fp32 value of IEEE half bits, which is exact.
ZERO_HOST_DEVICE ZERO_INLINE constexpr float f16_value(uint16_t bits) {
  if (kNativeHalves && !std::is_constant_evaluated()) return native_f16_value(bits);
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  // As fp32, the shifted bits are the half's value times 2^-112, also for subnormal halves.
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = (magnitude << 13) + 0x70000000u;
  const uint32_t value = magnitude >= 0x7c00u ? special : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(sign | value);
}

/// A 16-bit storage type. `bf16(x)` rounds, `float(b)` is exact.
struct bf16 {
  uint16_t bits;
  bf16() = default;
  ZERO_HOST_DEVICE ZERO_INLINE constexpr explicit bf16(float value) : bits(bf16_bits(value)) {}
  ZERO_HOST_DEVICE ZERO_INLINE constexpr explicit operator float() const {
    return bf16_value(bits);
  }
};

struct f16 {
  uint16_t bits;
  f16() = default;
  ZERO_HOST_DEVICE ZERO_INLINE constexpr explicit f16(float value) : bits(f16_bits(value)) {}
  ZERO_HOST_DEVICE ZERO_INLINE constexpr explicit operator float() const { return f16_value(bits); }
};

/// Returns the Dtype of the element type T: float, bf16 or f16.
template <class T>
constexpr Dtype dtype_of();
template <>
constexpr Dtype dtype_of<float>() {
  return Dtype::f32;
}
template <>
constexpr Dtype dtype_of<bf16>() {
  return Dtype::bf16;
}
template <>
constexpr Dtype dtype_of<f16>() {
  return Dtype::f16;
}

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls body(TypeTag<T>) with the element type T of `dtype`. Throws Error(kInternal) if no kernel
/// computes in `dtype`.
template <class Body>
void with_type(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::f32:
      return body(TypeTag<float>{});
    case Dtype::bf16:
      return body(TypeTag<bf16>{});
    case Dtype::f16:
      return body(TypeTag<f16>{});
    default:
      ZERO_REQUIRE(false, "no kernel computes in ", name_of(dtype), ": fp32, bf16 or fp16");
  }
}

/// Calls body(TypeTag<T>, TypeTag<G>) with the element types of `compute` and of `gradient`, in
/// which gradients are stored. REQUIRES: G is T or fp32.
template <class Body>
void with_gradient_type(Dtype compute, Dtype gradient, const Body& body) {
  ZERO_REQUIRE(gradient == compute || gradient == Dtype::f32, "gradients rest in ",
               name_of(gradient), " where ", name_of(compute), " computes: that or fp32");
  with_type(compute, [&](auto t) {
    if (gradient == Dtype::f32) return body(t, TypeTag<float>{});
    body(t, t);
  });
}

}  // namespace zero
