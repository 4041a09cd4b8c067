#include "io/data/mixture.hpp"

#include <algorithm>
#include <cmath>

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero {
namespace {

constexpr uint64_t kStream = 0x4D49585455524500u;  // keeps these numbers apart from other uses
constexpr double kOne = 4294967296.0;

}  // namespace

int64_t Mixture::Choice::taken(int64_t n) const {
  return int64_t((static_cast<unsigned __int128>(uint64_t(n)) * share + offset) >> 32);
}

Mixture::Mixture(const std::vector<Part>& parts, uint64_t seed) {
  ZERO_REQUIRE(!parts.empty(), "a mixture of no parts");
  double rest = 0;
  for (const Part& part : parts) {
    ZERO_REQUIRE(part.weight > 0 && std::isfinite(part.weight), "a weight of ", part.weight);
    rest += part.weight;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const PhiloxBlock random = philox({{uint32_t(i), 0, 0, 0}}, seed ^ kStream);
    // Parts of equal size want orders of their own.
    orders_.emplace_back(seed ^ (uint64_t(random.word[1]) << 32 | random.word[2]),
                         parts[i].samples);
    if (i + 1 == parts.size()) break;
    const double share = std::round(parts[i].weight / rest * kOne);
    choices_.push_back({.share = uint64_t(std::clamp(share, 1.0, kOne)), .offset = random.word[0]});
    rest -= parts[i].weight;
  }
}

Mixture::Place Mixture::at(int64_t position) const {
  ZERO_REQUIRE(position >= 0, "sample at position ", position);
  int64_t n = position;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const int64_t before = choices_[i].taken(n);
    if (choices_[i].taken(n + 1) > before) return {i, orders_[i].sample(before)};
    n -= before;
  }
  return {choices_.size(), orders_.back().sample(n)};
}

}  // namespace zero
