#pragma once
/// How fast this machine's disk and products are likely to be.

#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/disk.hpp"

namespace zero::advise {

/// What a node's ranks need of a folder, and what is free there before they take it.
struct DiskFolder {
  std::string folder;
  int64_t needed_bytes = 0, free_bytes = 0;
};

/// One for each folder, of ranks with so many bytes each. Throws Error(kUsage) for a missing one.
std::vector<DiskFolder> disk_folders(const state::DiskHomes& homes, int64_t rank_bytes,
                                     int node_ranks);

/// What is said as a run starts.
struct DiskOutlook {
  std::vector<DiskFolder> folders;
  state::DiskRates rates;   ///< of the slowest rank
  plan::DiskForecast step;  ///< of a rank

  double step_seconds() const;
};

/// For people: a line for each folder, then the predicted time of a step's transfers; "" where
/// nothing is on disk.
std::string outlook_text(const DiskOutlook& outlook);
/// Warns of a disk that takes far longer than a step computes, by half a second at least; else "".
std::string outlook_warning(const DiskOutlook& outlook, double compute_seconds);

/// The longest that one product may take, in seconds: where a run measures its peak as it starts,
/// and where doctor and calibrate report rates that a user has asked for, on a busy host too.
inline constexpr double kMomentSeconds = 0.04, kReportSeconds = 0.25;

/// Floating-point operations a second of this rank's largest quick product, best of a few, with all
/// ranks measuring at the same time; what a step's speed is printed as a share of. On a host it is
/// 0 where one product would take more than `patience` seconds; otherwise measuring takes some
/// 0.2 s, or the time of two products where that is longer. On a GPU, which is never too slow, a
/// time is the mean of ten products behind each other, once the library has chosen how to do them.
double measure_product_peak(int threads, Dtype dtype, double patience = kMomentSeconds);

/// Whether a training of so many floating-point operations a rank, all its steps together, has more
/// of them than measuring the peak takes. A shorter one would spend most of its time on that.
bool is_worth_a_product_peak(double operations);

}  // namespace zero::advise
