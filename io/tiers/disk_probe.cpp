#include "zero/io/tiers/disk_probe.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero::tiers {
namespace {

constexpr int64_t kMemoryBytes = int64_t(64) << 20;

/// Fills memory with noise, because a disk may shorten equal bytes.
void fill_with_noise(std::span<std::byte> memory) {
  constexpr size_t kDraw = sizeof(PhiloxBlock);
  for (size_t at = 0; at + kDraw <= memory.size(); at += kDraw) {
    const PhiloxBlock drawn = philox({{uint32_t(at / kDraw), 0, 0, 0}}, 1);
    std::copy_n(reinterpret_cast<const std::byte*>(drawn.word), kDraw,
                memory.begin() + int64_t(at));
  }
}

std::unique_ptr<aio::Engine> make_engine(const DiskSetting& setting, std::span<std::byte> memory) {
  const aio::EngineOptions options{
      .depth = setting.depth, .threads = setting.threads, .memory = memory};
  if (!setting.uring) return aio::make_thread_engine(options);
  std::string why;
  auto engine = aio::make_uring_engine(options, why);
  if (!engine) refuse(Exit::kUsage, why);
  return engine;
}

}  // namespace

DiskProbe::DiskProbe(const std::string& folder)
    : files_({.folders = {folder}, .bytes = kBytes}), memory_(kMemoryBytes) {
  fill_with_noise({memory_.data(), size_t(memory_.bytes())});
  // By threads, because a program without io_uring has these.
  const aio::Swept filled = run({.uring = false, .threads = 4},
                                {.pattern = aio::Pattern::write, .most_seconds = kFillSeconds});
  region_bytes_ = filled.bytes_written;
}

double DiskProbe::bytes_per_second(const DiskSetting& setting, aio::Pattern pattern,
                                   double most_seconds) {
  return run(setting, {.pattern = pattern, .most_seconds = most_seconds}).bytes_per_second();
}

aio::Swept DiskProbe::run(const DiskSetting& setting, const aio::Sweep& part) {
  const int64_t room = memory_.bytes() / setting.block_bytes;
  const int64_t places = std::clamp<int64_t>(room, 1, setting.depth);
  const std::span memory(memory_.data(), size_t(places * setting.block_bytes));
  aio::Queue queue(make_engine(setting, memory),
                   {.block_bytes = setting.block_bytes, .transfers = int(places)});
  aio::Sweep asked = part;
  asked.file = files_.range_at(0, 1).file;
  asked.region_bytes = region_bytes_;
  asked.transfer_bytes = setting.block_bytes;
  asked.memory = memory;
  asked.bytes = region_bytes_;
  const aio::Swept swept = sweep(queue, asked);
  bytes_written_ += swept.bytes_written;
  return swept;
}

}  // namespace zero::tiers
