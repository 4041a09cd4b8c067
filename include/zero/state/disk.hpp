#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/run/executor.hpp"

namespace zero::state {

struct DiskBytes {
  int64_t read = 0, written = 0;
  void add(const DiskBytes& more) { read += more.read, written += more.written; }
  int64_t sum() const { return read + written; }
};
DiskBytes operator-(const DiskBytes& a, const DiskBytes& b);

/// Bytes written in `seconds`, kept up for a day: what a disk's endurance is compared with.
int64_t a_day(int64_t written, double seconds);

/// What the kernel says that this process has moved to and from disks so far; zeros where it does
/// not count.
DiskBytes process_disk_bytes();

/// Where the homes nvme of a run are, and how bytes go there.
struct DiskHomes {
  std::vector<std::string> folders = {};  ///< each once; several are striped
  AioConfig aio = {};
};

/// Whether the folders of all homes nvme exist on this host.
bool has_disk_folders(const RunConfig& config);

/// Throws Error(kUsage) naming the key of a folder that does not exist.
DiskHomes disk_homes(const RunConfig& config);

/// The bytes that a rank keeps on disk, and the queues of the two lanes that move them.
class Disk {
 public:
  /// Allocates `bytes`, and after them the second slots of `saved`, in nameless files in the
  /// folders at once. Throws as DiskFiles does, and Error(kUsage) where aio.require_uring asks for
  /// what this machine lacks.
  Disk(const DiskHomes& homes, int64_t bytes, std::span<const tiers::DiskExtent> saved = {});

  run::LaneDisks lanes() { return {&read_, &write_}; }

  /// Between bodies: what lies on disk now is what frozen() reads until thaw(), whatever the lanes
  /// write. Only for a disk with second slots.
  void freeze() { slots_.freeze(); }
  void thaw() { slots_.thaw(); }
  /// By a queue of its own, so that another thread may use it beside the lanes.
  tiers::DiskTier& frozen() { return *frozen_; }
  /// Lets the kernel keep the memory mapped that both lanes move from and to, where its limits
  /// allow; else warning() says so.
  void register_memory(std::span<std::byte> memory);
  int64_t bytes() const { return files_.bytes(); }
  /// Whether second slots have their room only once they are written.
  bool has_unreserved_slots() const { return frozen_ && !files_.is_reserved(); }
  /// Whether the page cache is passed by.
  bool is_direct() const { return files_.direct(); }
  /// Why it is not as fast as it could be; "" if it is.
  const std::string& warning() const { return warning_; }
  /// What both lanes have moved so far, block by block, and whether one of them is at it: readable
  /// from any thread at any time.
  DiskBytes moved() const;
  /// What frozen() has moved so far.
  DiskBytes moved_frozen() const { return {.read = frozen_ ? frozen_->moved_bytes() : 0}; }
  bool is_moving() const { return read_.is_moving() || write_.is_moving(); }

 private:
  std::unique_ptr<aio::Engine> io_engine(const AioConfig& config);
  tiers::DiskBlocks blocks();

  std::string warning_;
  tiers::DiskFiles files_;
  tiers::BlockTable table_;
  tiers::SlotTable slots_;
  tiers::DiskTier read_, write_;
  std::optional<tiers::DiskTier> frozen_;  ///< where there are second slots
};

/// What a disk is expected to do for one rank, in bytes a second.
struct DiskRates {
  double read = 0, write = 0;  ///< 0: nothing is expected
  double slack = 4;            ///< so many times slower is worth a warning
  std::string source = {};     ///< where the numbers come from

  /// How long transfers take, both directions of which share a disk.
  double seconds_of(const DiskBytes& bytes) const {
    return double(bytes.read) / read + double(bytes.written) / write;
  }
};

/// "2.04 GiB/s"
std::string rate_text(double bytes_per_second);

/// Compares what a disk does with what was expected of it. Thread-safe.
class DiskPace {
 public:
  /// Judges transfers in stretches of this length, in seconds.
  static constexpr double kJudgedSeconds = 5;

  /// `place` names the disk.
  DiskPace(std::string place, DiskRates expected);

  /// From now on.
  void expect(const DiskRates& rates);

  /// Call regularly, with the clock in seconds, whether bytes move, and the bytes moved so far.
  /// Returns the warning once, with measured and expected rate; else "".
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
