#pragma once
/// Which of several ways to compute the same thing is the fastest here: measured once, then kept.
/// Nothing here knows the library.

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kernels/vendor/algorithm_cache.hpp"

namespace zero::kernels::vendor {

struct Way {
  std::string name;                             ///< in the cache
  std::function<bool(const Algorithm&)> takes;  ///< whether what was kept can still be done
  /// Its best algorithm and time; none: it cannot be done here.
  std::function<std::optional<Algorithm>()> measure;
};

struct FastestWay {
  size_t way;
  Algorithm algorithm;
};

/// The first of the fastest. What `cache` has no time of, or one of an algorithm that is no longer
/// taken, is measured and kept, by one process of those that share the file; that something cannot
/// be done is kept as an infinite time. Throws Error(kInternal) where nothing can be done.
FastestWay fastest_way(AlgorithmCache& cache, std::span<const Way> ways);

}  // namespace zero::kernels::vendor
