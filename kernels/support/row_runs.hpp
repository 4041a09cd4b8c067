#pragma once
/// Rows that a warp reads by 16 bytes a lane.

#include "kernels/support/run.hpp"
#include "kernels/support/warp.hpp"

namespace zero::kernels {

/// A row in runs of eight elements. kWhole: its length is a multiple of eight, and it lies where
/// an access of 16 bytes may.
template <class T, bool kWhole>
struct RunsOfRow {
  T* row;
  int64_t width;

  /// Whether element k of the run that begins at `first` exists.
  ZERO_DEVICE_ONLY bool has(int64_t first, int k) const {
    return kWhole ? first < width : first + k < width;
  }
  /// Zeros where the row has ended.
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
