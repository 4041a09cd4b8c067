// What checksums cost: the disk tier, which keeps an XXH3-128 of each 64 KiB, beside the same bytes
// through the bare queue, in turns on one nameless file; and the rate of XXH3 alone on a core.
//   perf_io_tier FOLDER [MiB]      ends with status 1 if a median ratio is below 0.9

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "perf/support/timing.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::perf {
namespace {

constexpr int kPairs = 15;
constexpr double kGoal = 0.9;
constexpr aio::QueueOptions kOptions{};

std::unique_ptr<aio::Engine> make_engine(std::span<std::byte> memory) {
  aio::EngineChoice choice = aio::make_engine({.memory = memory});
  if (!choice.warning.empty()) std::printf("%s\n", choice.warning.c_str());
  return std::move(choice.engine);
}

/// The whole file through a queue, without a look at the bytes.
class Bare {
 public:
  Bare(const tiers::DiskFiles& files, std::span<std::byte> memory)
      : files_(files), memory_(memory), queue_(make_engine(memory), kOptions) {}

  void move(aio::Direction direction) {
    const tiers::DiskFiles::FileRange whole = files_.range_at(0, int64_t(memory_.size()));
    queue_.wait(queue_.submit({.direction = direction, .file = whole.file, .memory = memory_}));
  }

 private:
  const tiers::DiskFiles& files_;
  std::span<std::byte> memory_;
  aio::Queue queue_;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The median of the bare queue's seconds over the tier's, pair by pair; the first is warm-up.
double compare(const char* what, double bytes, const std::function<void()>& bare,
               const std::function<void()>& checked) {
  std::vector<double> ratios, rates;
  for (int pair = 0; pair <= kPairs; ++pair) {
    const bool bare_first = pair % 2 == 0;
    double of_bare = bare_first ? seconds_of(bare) : 0;
    const double of_checked = seconds_of(checked);
    if (!bare_first) of_bare = seconds_of(bare);
    if (pair == 0) continue;
    ratios.push_back(of_bare / of_checked);
    rates.push_back(bytes / of_checked);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-6s %6.2f GB/s with checksums, %.3f (%.3f to %.3f) of the rate without\n", what,
              median(rates) / 1e9, median(ratios), *least, *most);
  return median(ratios);
}

bool measure(const std::string& folder, int64_t bytes) {
  const tiers::DiskFiles files({.folders = {folder}, .bytes = bytes});
  tiers::BlockTable table(bytes);
  Arena arena(bytes);
  arena.touch(1);
  const std::span memory(arena.data(), size_t(bytes));
  uint8_t seen = 0;
  const double seconds = best_seconds(5, [&] { seen ^= xxh3_of(memory)[0]; });
  std::printf("XXH3 on one core %.1f GB/s (%u)\n", double(bytes) / seconds / 1e9, seen & 1);
  Bare bare(files, memory);
  tiers::DiskTier tier(files, table, make_engine(memory), kOptions);
  const double writing = compare(
      "write", double(bytes), [&] { bare.move(aio::Direction::write); },
      [&] { tier.write(0, memory, 1); });
  const double reading = compare(
      "read", double(bytes), [&] { bare.move(aio::Direction::read); },
      [&] { tier.read(0, memory); });
  const bool passed = std::min(writing, reading) >= kGoal;
  std::printf("at least %.2f: %s\n", kGoal, passed ? "passed" : "FAILED");
  return passed;
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: perf_io_tier FOLDER [MiB]\n"), 2;
  try {
    const int64_t mib = argc > 2 ? std::atoll(argv[2]) : 512;
    return zero::perf::measure(argv[1], mib << 20) ? 0 : 1;
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), int(error.exit());
  }
}
