#include "kernels/vendor/fastest_way.hpp"

#include <limits>

#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

std::optional<Algorithm> known(const AlgorithmCache& cache, const Way& way) {
  const std::optional<Algorithm> kept = cache.find(way.name);
  const bool good = kept && (kept->microseconds == kNever || way.takes(*kept));
  return good ? kept : std::nullopt;
}

/// Other processes are looked for without a turn first: a rank that has measured may be held up by
/// one that has not come as far.
Algorithm known_or_measured(AlgorithmCache& cache, const Way& way) {
  if (const auto kept = known(cache, way)) return *kept;
  cache.read_on();
  if (const auto kept = known(cache, way)) return *kept;
  const AlgorithmCache::Turn turn(cache);
  cache.read_on();
  if (const auto kept = known(cache, way)) return *kept;
  const Algorithm best =
      way.measure().value_or(Algorithm{.description = {}, .microseconds = kNever});
  cache.keep(way.name, best);
  return best;
}

}  // namespace

FastestWay fastest_way(AlgorithmCache& cache, std::span<const Way> ways) {
  FastestWay best{.way = ways.size(), .algorithm = {.description = {}, .microseconds = kNever}};
  for (size_t i = 0; i < ways.size(); ++i) {
    const Algorithm known = known_or_measured(cache, ways[i]);
    if (known.microseconds < best.algorithm.microseconds) best = {.way = i, .algorithm = known};
  }
  ZERO_REQUIRE(best.way < ways.size(), "no way to compute ",
               ways.empty() ? std::string("nothing") : ways.front().name);
  return best;
}

}  // namespace zero::kernels::vendor
