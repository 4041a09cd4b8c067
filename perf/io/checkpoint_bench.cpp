// One rank's file of a checkpoint, written with digests and synced, in turns with as many bytes
// written and synced through the page cache and past it, of which the faster is what it is held
// against; and read again from memory, where one reading has left it, with every digest checked.
//   perf_io_checkpoint FOLDER [MB [RATIO GB/s]]
// Ends with status 1 where the median of theirs over ours is below RATIO, or loading below GB/s.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "perf/support/raw_file.hpp"
#include "perf/support/timing.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::perf {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 7;  // and one that is not counted
constexpr int64_t kTensors = 100;
constexpr int64_t kPieceNumel = 1 << 20;
constexpr int64_t kPageNumel = 1024;

/// A folder for one file after the other, which goes away.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& folder) : path_(folder + "/perf_io_checkpoint") {
    fs::remove_all(path_);
    fs::create_directory(path_);
    folder_ = OpenFile(open(path_.c_str(), O_RDONLY | O_DIRECTORY));
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  int folder() const { return folder_.descriptor(); }
  const std::string& path() const { return path_; }
  void clear(const std::string& name) const { fs::remove(path_ + "/" + name); }

 private:
  std::string path_;
  OpenFile folder_;
};

std::vector<checkpoint::SlicePlan> slices_of(int64_t bytes) {
  const int64_t numel = bytes / int64_t(sizeof(float)) / kTensors / kPageNumel * kPageNumel;
  std::vector<checkpoint::SlicePlan> slices;
  for (int64_t i = 0; i < kTensors; ++i) {
    slices.push_back({.tensor = {.name = text("model/t", i), .dtype = Dtype::f32, .shape = {numel}},
                      .begin = 0,
                      .numel = numel});
  }
  return slices;
}

checkpoint::File save(const ScratchFolder& scratch, const checkpoint::ShardStructure& structure,
                      const Arena& staging, const std::vector<checkpoint::SlicePlan>& slices,
                      std::span<const float> values) {
  checkpoint::ShardWriter writer(scratch.folder(), "rank00000.h5", structure, staging, {});
  for (const checkpoint::SlicePlan& slice : slices) {
    for (int64_t at = 0; at < slice.numel; at += kPieceNumel) {
      const auto piece =
          values.subspan(size_t(at), size_t(std::min(kPieceNumel, slice.numel - at)));
      writer.append_resting(std::as_bytes(piece));
    }
  }
  return writer.finish().file;
}

/// The same bytes again and again.
void write_raw(const ScratchFolder& scratch, RawWay way, int64_t times, std::span<float> values) {
  RawFile file(scratch.path() + "/raw", times * int64_t(values.size_bytes()), way);
  for (int64_t i = 0; i < times; ++i) file.append(std::as_writable_bytes(values));
  file.finish();
}

/// Bytes/s of every byte read and every digest checked.
double load_rate(const ScratchFolder& scratch, const checkpoint::File& file) {
  checkpoint::ShardReader reader(scratch.folder(), scratch.path(), file, {});
  return double(file.bytes) / best_seconds(3, [&] { reader.verify(); });
}

struct Turn {
  double ours, cached, direct;
};

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool measure(const ScratchFolder& scratch, int64_t bytes, double least_ratio, double least_rate) {
  const std::vector<checkpoint::SlicePlan> slices = slices_of(bytes);
  const Arena memory(slices[0].numel * int64_t(sizeof(float)));
  const std::span values(reinterpret_cast<float*>(memory.data()), size_t(slices[0].numel));
  fill_unalike(std::as_writable_bytes(values));
  const checkpoint::ShardStructure structure(slices);
  const Arena staging(checkpoint::kStagingBytes);
  checkpoint::File file;
  std::vector<Turn> turns;
  for (int turn = 0; turn <= kTurns; ++turn) {
    scratch.clear("rank00000.h5");
    let_disk_rest();
    const auto raw = [&](RawWay way) {
      let_disk_rest();
      const double seconds = seconds_of([&] { write_raw(scratch, way, kTensors, values); });
      scratch.clear("raw");
      return seconds;
    };
    turns.push_back(
        {.ours = seconds_of([&] { file = save(scratch, structure, staging, slices, values); }),
         .cached = raw(RawWay::cached),
         .direct = raw(RawWay::direct)});
  }
  turns.erase(turns.begin());
  const double cached = median_of(turns, [](const Turn& turn) { return turn.cached; });
  const double direct = median_of(turns, [](const Turn& turn) { return turn.direct; });
  const double rate = load_rate(scratch, file) / 1e9;
  const double ratio = median_of(turns, [&](const Turn& turn) {
    return (direct < cached ? turn.direct : turn.cached) / turn.ours;
  });
  const double ours = median_of(turns, [](const Turn& turn) { return turn.ours; });
  std::printf(
      "%.0f MB: save %.3f s, written and synced %.3f s through the page cache, %.3f s past "
      "it; the faster over the save %.3f\n",
      double(file.bytes) / 1e6, ours, cached, direct, ratio);
  std::printf("load with every digest checked %.2f GB/s\n", rate);
  return ratio >= least_ratio && rate >= least_rate;
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: perf_io_checkpoint FOLDER [MB [R GB/s]]\n"), 2;
  const auto number = [&](int i, double otherwise) {
    return argc > i ? std::atof(argv[i]) : otherwise;
  };
  try {
    const zero::perf::ScratchFolder scratch(argv[1]);
    return zero::perf::measure(scratch, int64_t(number(2, 1500) * 1e6), number(3, 0), number(4, 0))
               ? 0
               : 1;
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
