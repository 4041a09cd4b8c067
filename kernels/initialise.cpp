#include "zero/kernels/initialise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "zero/base/philox.hpp"

namespace zero::kernels {
namespace {

/// Keeps these counters apart from those of dropout, whose last word is a small number.
constexpr uint32_t kPurpose = 0xffffffffu;

/// Returns c[0] x^(N-1) + ... + c[N-1]. Unrolled, because an inner loop would keep the loop around
/// it from vectorising.
template <size_t N>
[[gnu::always_inline]] inline double horner(double x, const double (&c)[N]) {
  double sum = c[0];
#pragma GCC unroll 16
  for (size_t k = 1; k < N; ++k) sum = std::fma(sum, x, c[k]);
  return sum;
}

/// Returns the logarithm of a normal positive number to a few units of 1e-16. It is our own,
/// because the C library's neither vectorises nor gives the same bits everywhere.
/// log(2^n m) = n log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...),  s = (m - 1) / (m + 1),  |s| < 0.172.
inline double log_f64(double x) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;
  constexpr uint64_t kMantissa = 0xfffffffffffffu;
  const uint64_t offset = std::bit_cast<uint64_t>(x) - kRootHalf;
  const double n = double(int64_t(offset) >> 52);
  const double m = std::bit_cast<double>((offset & kMantissa) + kRootHalf);
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  const double series = horner(square, {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                        1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0});
  return std::fma(n, 0.69314718055994530942, 2.0 * s * series);
}

struct Turn {
  double cosine;
  double sine;
};

/// Returns cosine and sine of 2 pi u for u in [0, 1), by Taylor series within an eighth of a turn.
inline Turn turn(double u) {
  constexpr double kToInteger = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = std::fma(u, 4.0, kToInteger);
  const uint64_t quarter = std::bit_cast<uint64_t>(shifted) & 3;
  const double angle = 6.28318530717958647693 * std::fma(shifted - kToInteger, -0.25, u);
  const double square = angle * angle;
  const double cosine =
      horner(square, {1 / 20922789888000.0, -1 / 87178291200.0, 1 / 479001600.0, -1 / 3628800.0,
                      1 / 40320.0, -1 / 720.0, 1 / 24.0, -1 / 2.0, 1.0});
  const double sine = angle * horner(square, {1 / 355687428096000.0, -1 / 1307674368000.0,
                                              1 / 6227020800.0, -1 / 39916800.0, 1 / 362880.0,
                                              -1 / 5040.0, 1 / 120.0, -1 / 6.0, 1.0});
  const bool swap = (quarter & 1) != 0;
  const double a = swap ? sine : cosine, b = swap ? cosine : sine;
  return {quarter == 1 || quarter == 2 ? -a : a, quarter >= 2 ? -b : b};
}

struct NormalPair {
  float even;
  float odd;
};

/// Returns the normals of elements 2 pair and 2 pair + 1.
inline NormalPair normal_pair(uint64_t seed, uint32_t parameter, int64_t pair) {
  const PhiloxBlock random =
      philox({{uint32_t(pair), uint32_t(uint64_t(pair) >> 32), parameter, kPurpose}}, seed);
  // The words become the middles of 2^32 equal intervals, so neither is ever 0.
  const double first =
      (double(random.word[0]) + (double(random.word[1]) + 0.5) * 0x1p-32) * 0x1p-32;
  const double second = (double(random.word[2]) + 0.5) * 0x1p-32;
  const double radius = std::sqrt(-2.0 * log_f64(first));
  const Turn at = turn(second);
  return {float(radius * at.cosine), float(radius * at.sine)};
}

}  // namespace

float initial_normal(uint64_t seed, uint32_t parameter, int64_t element) {
  const NormalPair pair = normal_pair(seed, parameter, element / 2);
  return element % 2 == 0 ? pair.even : pair.odd;
}

void initial_normals(uint64_t seed, uint32_t parameter, int64_t first, std::span<float> values) {
  constexpr int64_t kPairs = 256;
  std::array<float, 2 * kPairs> drawn;
  const int64_t end = first + int64_t(values.size());
  for (int64_t start = first / 2; 2 * start < end; start += kPairs) {
    for (int64_t k = 0; k < kPairs; ++k) {
      const NormalPair pair = normal_pair(seed, parameter, start + k);
      drawn[size_t(2 * k)] = pair.even;
      drawn[size_t(2 * k + 1)] = pair.odd;
    }
    const int64_t from = std::max(first, 2 * start), to = std::min(end, 2 * (start + kPairs));
    std::copy_n(drawn.begin() + (from - 2 * start), to - from, values.begin() + (from - first));
  }
}

}  // namespace zero::kernels
