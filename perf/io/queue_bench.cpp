// The queue over a file that is there already, past the page cache; one line of JSON with bytes a
// second. perf/io/aio_fio.py compares it with fio.
//   perf_io_queue FILE read|write|mixed BYTES BLOCK DEPTH [io_uring|threads]

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::perf {
namespace {

constexpr int kThreads = 4;  ///< of the fallback

struct Job {
  std::string path;
  aio::Pattern pattern;
  int64_t bytes, block_bytes;
  int depth;
  bool uring;
};

aio::Pattern pattern_named(std::string_view name) {
  if (name == "read") return aio::Pattern::read;
  if (name == "write") return aio::Pattern::write;
  if (name == "mixed") return aio::Pattern::mixed;
  refuse(Exit::kUsage, name, ": write read, write or mixed");
}

std::unique_ptr<aio::Engine> make_engine(const Job& job, std::span<std::byte> memory) {
  const aio::EngineOptions options{.depth = job.depth, .threads = kThreads, .memory = memory};
  if (!job.uring) return aio::make_thread_engine(options);
  std::string why;
  auto engine = aio::make_uring_engine(options, why);
  if (!engine || !why.empty()) refuse(Exit::kUsage, why);
  return engine;
}

void measure(const Job& job) {
  const OpenFile opened(open(job.path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (!opened) refuse(Exit::kUsage, job.path, ": cannot be opened with O_DIRECT");
  const aio::File file{.descriptor = opened.descriptor(), .name = job.path};
  const Arena arena(job.depth * job.block_bytes);
  const std::span memory(arena.data(), size_t(arena.bytes()));
  // Bytes that are not alike, for a disk that would notice.
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = std::byte((i * 2654435761u) >> 13);
  aio::Queue queue(make_engine(job, memory),
                   {.block_bytes = job.block_bytes, .transfers = job.depth});
  const aio::Swept swept = sweep(queue, {.pattern = job.pattern,
                                         .file = &file,
                                         .region_bytes = job.bytes,
                                         .transfer_bytes = job.block_bytes,
                                         .memory = memory,
                                         .bytes = job.bytes});
  std::printf("{\"bytes_per_second\": %.0f, \"huge_bytes\": %lld, \"bytes\": %lld}\n",
              swept.bytes_per_second(), static_cast<long long>(arena.huge_bytes()),
              static_cast<long long>(arena.bytes()));
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: perf_io_queue FILE read|write|mixed BYTES BLOCK DEPTH [ENGINE]\n");
    return 2;
  }
  try {
    zero::perf::measure({.path = argv[1],
                         .pattern = zero::perf::pattern_named(argv[2]),
                         .bytes = std::atoll(argv[3]),
                         .block_bytes = std::atoll(argv[4]),
                         .depth = std::atoi(argv[5]),
                         .uring = argc < 7 || std::string_view(argv[6]) != "threads"});
    return 0;
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), int(error.exit());
  }
}
