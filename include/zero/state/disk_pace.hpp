#pragma once

#include <mutex>
#include <string>

#include "zero/state/disk.hpp"

namespace zero::state {

/// What a disk is expected to do for one rank, in bytes a second.
struct DiskRates {
  double read = 0, write = 0;  ///< 0: nothing is expected
  double slack = 4;            ///< so many times slower is worth a warning
  std::string source = {};     ///< where the numbers come from

  /// Of transfers, both directions of which share a disk.
  double seconds_of(const DiskBytes& bytes) const {
    return double(bytes.read) / read + double(bytes.written) / write;
  }
};

/// "2.04 GiB/s"
std::string rate_text(double bytes_per_second);

/// Compares what a disk does with what was expected of it. Thread-safe.
class DiskPace {
 public:
  /// Judged is every stretch of so much time at transfers.
  static constexpr double kJudgedSeconds = 5;

  /// `place` names the disk.
  DiskPace(std::string place, DiskRates expected);

  /// From now on.
  void expect(const DiskRates& rates);

  /// To be called again and again, with a clock's seconds, whether bytes are being moved, and how
  /// many have been in all. The warning once, with measured and expected rate; else "".
  std::string look(double now_seconds, bool is_moving, const DiskBytes& moved);

 private:
  std::string warning(const DiskBytes& bytes) const;

  const std::string place_;
  std::mutex mutex_;
  DiskRates expected_;
  double seen_seconds_ = -1;  ///< at the last look; -1: there was none
  double moving_seconds_ = 0;
  DiskBytes begun_;  ///< moved when what is judged began
  bool warned_ = false;
};

}  // namespace zero::state
