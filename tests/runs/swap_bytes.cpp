// What tests/runs/disk.py starts on disks of many kinds: swap_bytes FOLDER MIB SALT ROUNDS writes
// bytes that SALT chooses to a disk tier in FOLDER and reads them back, ROUNDS times. After each
// writing it says "written" and waits for a line or the end of stdin. At the end it prints engine,
// O_DIRECT or not, and the SHA-256 of what was read. Ends with the status of the first error.

#include <cstdio>
#include <cstdlib>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero {
namespace {

struct Job {
  const char* folder;
  int64_t bytes;
  uint64_t salt;
  int64_t rounds;
};

void fill(std::span<std::byte> memory, uint64_t salt) {
  for (size_t at = 0; at + sizeof(PhiloxBlock) <= memory.size(); at += sizeof(PhiloxBlock)) {
    const PhiloxBlock drawn = philox({{uint32_t(at), uint32_t(at >> 32), 0, 0}}, salt);
    const auto bytes = std::as_bytes(std::span(drawn.word));
    std::copy(bytes.begin(), bytes.end(), memory.begin() + int64_t(at));
  }
}

void say_written_and_wait() {
  std::puts("written");
  std::fflush(stdout);
  for (int c = std::getchar(); c != EOF && c != '\n';) c = std::getchar();
}

void run(const Job& job) {
  const tiers::DiskFiles files({.folders = {job.folder}, .bytes = job.bytes});
  tiers::BlockTable table(job.bytes);
  const Arena arena(2 * job.bytes);
  const std::span all(arena.data(), size_t(arena.bytes()));
  const auto out = all.first(size_t(job.bytes)), in = all.subspan(size_t(job.bytes));
  aio::EngineChoice choice = aio::make_engine({.memory = all});
  if (!choice.warning.empty()) std::fprintf(stderr, "warning: %s\n", choice.warning.c_str());
  const std::string engine(choice.engine->name());
  tiers::DiskTier tier(files, table, std::move(choice.engine), {});
  Sha256 digest;
  for (int64_t round = 0; round < job.rounds; ++round) {
    fill(out, job.salt + uint64_t(round));
    tier.write(0, out, round + 1);
    say_written_and_wait();
    tier.read(0, in);
    digest.add(in);
  }
  std::printf("%s %s %s\n", engine.c_str(), files.direct() ? "direct" : "cached",
              digest.digest().c_str());
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: swap_bytes FOLDER MIB SALT ROUNDS\n"), 2;
  try {
    zero::run({.folder = argv[1],
               .bytes = std::atoll(argv[2]) << 20,
               .salt = uint64_t(std::atoll(argv[3])),
               .rounds = std::atoll(argv[4])});
  } catch (const zero::Error& error) {
    std::fprintf(stderr, "swap_bytes: %s\n", error.what());
    return int(error.exit());
  }
  return 0;
}
