#pragma once
/// The disk of one rank: nameless files in a folder, moved by threads, in the working folder unless
/// told otherwise.

#include <string>

#include "zero/io/tiers/disk_tier.hpp"
#include "zero/run/executor.hpp"

namespace zero::testing {

class RankDisk {
 public:
  explicit RankDisk(const plan::Plan& plan, const std::string& folder = ".",
                    std::unique_ptr<aio::Engine> reader = engine())
      : files_({.folders = {folder}, .bytes = plan.arena_bytes[size_t(plan::Tier::nvme)]}),
        table_(files_.bytes()),
        read_(files_, table_, std::move(reader), {}),
        write_(files_, table_, engine(), {}) {}

  run::LaneDisks lanes() { return {&read_, &write_}; }

 private:
  static std::unique_ptr<aio::Engine> engine() {
    return aio::make_thread_engine({.depth = 4, .threads = 1});
  }

  tiers::DiskFiles files_;
  tiers::BlockTable table_;
  tiers::DiskTier read_, write_;
};

}  // namespace zero::testing
