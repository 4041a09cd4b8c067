#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/run/executor.hpp"

namespace zero::train {

struct DiskBytes {
  int64_t read = 0, written = 0;
  void add(const DiskBytes& more) { read += more.read, written += more.written; }
  int64_t sum() const { return read + written; }
};
DiskBytes operator-(const DiskBytes& a, const DiskBytes& b);

/// What the kernel says that this process has moved to and from disks so far; zeros where it does
/// not count.
DiskBytes process_disk_bytes();

/// Where the homes nvme of a run are, and how bytes go there.
struct DiskSettings {
  std::vector<std::string> folders = {};  ///< each once; several are striped
  AioConfig aio = {};
};

/// Whether the folders of all homes nvme exist on this host.
bool has_disk_folders(const RunConfig& config);

/// Throws Error(kUsage) naming the key of a folder that does not exist.
DiskSettings disk_settings(const RunConfig& config);

/// The bytes that a rank keeps on disk, and the queues of the two lanes that move them.
class Disk {
 public:
  /// Allocates `bytes` in nameless files in the folders at once. Throws as DiskFiles does, and
  /// Error(kUsage) where aio.require_uring asks for what this machine lacks.
  Disk(const DiskSettings& settings, int64_t bytes);

  run::LaneDisks lanes() { return {&read_, &write_}; }
  /// Lets the kernel keep the memory mapped that both lanes move from and to, where its limits
  /// allow; else warning() says so.
  void register_memory(std::span<std::byte> memory);
  int64_t bytes() const { return files_.bytes(); }
  /// Whether the page cache is passed by.
  bool is_direct() const { return files_.direct(); }
  /// Why it is not as fast as it could be; "" if it is.
  const std::string& warning() const { return warning_; }
  /// What both lanes have moved so far, block by block, and whether one of them is at it: readable
  /// from any thread at any time.
  DiskBytes moved() const;
  bool is_moving() const { return read_.is_moving() || write_.is_moving(); }

 private:
  std::unique_ptr<aio::Engine> engine(const AioConfig& config);

  std::string warning_;
  tiers::DiskFiles files_;
  tiers::BlockTable table_;
  tiers::DiskTier read_, write_;
};

}  // namespace zero::train
