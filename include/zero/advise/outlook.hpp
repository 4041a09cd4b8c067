#pragma once
/// The expected speed of this machine's disk and products.

#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/disk.hpp"

namespace zero::advise {

/// The bytes that a node's ranks need in a folder, and the free bytes before they take them.
struct DiskFolder {
  std::string folder;
  int64_t needed_bytes = 0, free_bytes = 0;
};

/// Returns the needs in each folder of `homes` if each of `node_ranks` ranks needs `rank_bytes`
/// over all folders. Throws Error(kUsage) if a folder is missing.
std::vector<DiskFolder> disk_folders(const state::DiskHomes& homes, int64_t rank_bytes,
                                     int node_ranks);

/// The disk outlook reported at the start of a run.
struct DiskOutlook {
  std::vector<DiskFolder> folders;
  state::DiskRates rates;   ///< rates of the slowest rank
  plan::DiskForecast step;  ///< traffic of a rank

  /// Returns the forecast seconds of a step's transfers.
  double step_seconds() const;
};

/// Returns the outlook as text: a line for each folder, then the forecast time of a step's
/// transfers. Returns "" if nothing is on disk.
std::string outlook_text(const DiskOutlook& outlook);
/// Returns a warning if the disk of the outlook takes three times as long as a step's
/// `compute_seconds`, and half a second more; otherwise "".
std::string outlook_warning(const DiskOutlook& outlook, double compute_seconds);

/// Most seconds of a product: when a run measures its peak at the start, and when doctor and
/// calibrate report rates, on busy hosts too.
inline constexpr double kMomentSeconds = 0.04, kReportSeconds = 0.25;

/// Returns floating-point operations per second of this rank's largest quick product in `dtype` by
/// `threads` threads, the best of a few. All ranks measure at the same time. A step's speed is
/// printed as a share of it. A host returns 0 if a product would take more than `patience` seconds.
/// Otherwise it takes about 0.2 s, or two products if longer. On a GPU, which is never too slow, a
/// time is the mean of ten queued products, after the library has chosen its algorithm.
double measure_product_peak(int threads, Dtype dtype, double patience = kMomentSeconds);

/// True if `operations`, the floating-point operations of a rank in all steps of a training, are
/// more than the measurement of the peak takes. A shorter training would spend most of its time on
/// that.
bool is_worth_a_product_peak(double operations);

}  // namespace zero::advise
