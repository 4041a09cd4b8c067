#pragma once
/// Runs of eight consecutive elements, which a thread of a GPU reads in accesses of 16 bytes. Sums
/// and rows of a warp's 32 threads. Templates over a thread of a block, which knows its number and
/// meets the others: a GPU's, or in tests the host's (tests/support/device_block.hpp).

#include <cstdint>
#include <type_traits>

#include "zero/base/portable.hpp"

namespace zero::kernels {

/// The absent second input of a function of one.
struct None {
  ZERO_HOST_DEVICE explicit operator float() const { return 0.0f; }
};

inline constexpr int64_t kRunNumel = 8;

template <class T>
struct alignas(std::is_same_v<T, None> ? 1 : 16) Run {
  T at[kRunNumel];
};

template <class T>
bool takes_runs(const T* array) {
  return std::is_same_v<T, None> || reinterpret_cast<uintptr_t>(array) % alignof(Run<T>) == 0;
}

/// Returns elements [first, first + kRunNumel). REQUIRES: their address is aligned.
template <class T>
ZERO_HOST_DEVICE inline Run<T> run_at(const T* array, int64_t first) {
  if constexpr (std::is_same_v<T, None>)
    return {};
  else
    return *reinterpret_cast<const Run<T>*>(array + first);
}

template <class T>
ZERO_HOST_DEVICE inline void set_run(T* array, int64_t first, const Run<T>& run) {
  *reinterpret_cast<Run<T>*>(array + first) = run;
}

inline constexpr int kWarpLanes = 32;

/// Returns the sum over a warp's lanes, along a fixed tree, to each lane.
template <class Block, class Value>
ZERO_DEVICE_ONLY Value warp_sum(const Block& block, Value value) {
  for (int step = kWarpLanes / 2; step > 0; step /= 2)
    value += block.shuffle(value, block.lane() ^ step);
  return value;
}

template <class Block>
ZERO_DEVICE_ONLY float warp_maximum(const Block& block, float value) {
  for (int step = kWarpLanes / 2; step > 0; step /= 2) {
    const float other = block.shuffle(value, block.lane() ^ step);
    value = value < other ? other : value;
  }
  return value;
}

/// A row in runs of eight elements. kWhole: its length is a multiple of eight, and its address
/// allows accesses of 16 bytes.
template <class T, bool kWhole>
struct RunsOfRow {
  T* row;
  int64_t width;

  /// True if element k of the run that begins at `first` exists.
  ZERO_DEVICE_ONLY bool has(int64_t first, int k) const {
    return kWhole ? first < width : first + k < width;
  }
  /// Returns the run at `first`, with zeros behind the row's end.
  ZERO_DEVICE_ONLY Run<std::remove_const_t<T>> load(int64_t first) const {
    if constexpr (kWhole) {
      if (first < width) return run_at(static_cast<const T*>(row), first);
    }
    Run<std::remove_const_t<T>> run;
    for (int k = 0; k < kRunNumel; ++k) {
      run.at[k] = !kWhole && has(first, k) ? row[first + k] : std::remove_const_t<T>(0.0f);
    }
    return run;
  }
  ZERO_DEVICE_ONLY void store(int64_t first, const Run<T>& run) const {
    if constexpr (kWhole) {
      if (first < width) set_run(row, first, run);
    } else {
      for (int k = 0; k < kRunNumel; ++k)
        if (has(first, k)) row[first + k] = run.at[k];
    }
  }
};

/// Calls f(first) for the first elements of a lane's runs: run `lane` of each 32.
template <class Block, class F>
ZERO_DEVICE_ONLY void for_each_run(const Block& block, int64_t width, const F& f) {
  for (int64_t first = block.lane() * kRunNumel; first < width; first += kWarpLanes * kRunNumel)
    f(first);
}

}  // namespace zero::kernels
