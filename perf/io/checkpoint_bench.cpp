// One rank's file of a checkpoint, written with digests and synced, beside a plain write and fsync
// of as many bytes in turns; and read again from the file cache with every digest checked.
//   perf_io_checkpoint FOLDER [MB [RATIO GB/s]]
// Ends with status 1 where the median of plain over ours is below RATIO, or loading below GB/s.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "perf/support/timing.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::perf {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kPairs = 7;  // and one that is not counted
constexpr int64_t kTensors = 100;
constexpr int64_t kPieceNumel = 1 << 20;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A folder for one file after the other, which goes away.
class Place {
 public:
  explicit Place(const std::string& folder) : path_(folder + "/perf_io_checkpoint") {
    fs::remove_all(path_);
    fs::create_directory(path_);
    folder_ = OpenFile(open(path_.c_str(), O_RDONLY | O_DIRECTORY));
  }
  ~Place() { fs::remove_all(path_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  int folder() const { return folder_.descriptor(); }
  const std::string& path() const { return path_; }
  void clear(const std::string& name) const { fs::remove(path_ + "/" + name); }

 private:
  std::string path_;
  OpenFile folder_;
};

std::vector<checkpoint::SlicePlan> slices_of(int64_t bytes) {
  const int64_t numel = bytes / int64_t(sizeof(float)) / kTensors;
  std::vector<checkpoint::SlicePlan> slices;
  for (int64_t i = 0; i < kTensors; ++i) {
    slices.push_back({.tensor = {.name = text("model/t", i), .dtype = Dtype::f32, .shape = {numel}},
                      .begin = 0,
                      .numel = numel});
  }
  return slices;
}

checkpoint::File save(const Place& place, const std::vector<checkpoint::SlicePlan>& slices,
                      std::span<const float> values) {
  checkpoint::ShardWriter writer(place.folder(), "rank00000.h5", slices);
  for (const checkpoint::SlicePlan& slice : slices) {
    for (int64_t at = 0; at < slice.numel; at += kPieceNumel) {
      const auto piece =
          values.subspan(size_t(at), size_t(std::min(kPieceNumel, slice.numel - at)));
      writer.append(std::as_bytes(piece));
    }
  }
  return writer.finish().file;
}

void write_plainly(const Place& place, const std::vector<checkpoint::SlicePlan>& slices,
                   std::span<const float> values) {
  const OpenFile file(openat(place.folder(), "plain", O_WRONLY | O_CREAT | O_EXCL, 0600));
  for (const checkpoint::SlicePlan& slice : slices) {
    const auto bytes = std::as_bytes(values.first(size_t(slice.numel)));
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const int reason = write_all(file, content)) refuse(Exit::kIo, "errno ", reason);
  }
  if (fsync(file.descriptor()) != 0) refuse(Exit::kIo, "fsync failed");
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Bytes/s of every byte read and every digest checked.
double load_rate(const Place& place, const checkpoint::File& file) {
  checkpoint::ShardReader reader(place.folder(), place.path(), file);
  return double(file.bytes) / best_seconds(3, [&] { reader.verify(); });
}

bool measure(const Place& place, int64_t bytes, double least_ratio, double least_rate) {
  const std::vector<checkpoint::SlicePlan> slices = slices_of(bytes);
  std::vector<float> values(size_t(slices[0].numel));
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i) / 3;
  checkpoint::File file;
  std::vector<double> ours, plain, ratios;
  for (int pair = 0; pair <= kPairs; ++pair) {
    place.clear("rank00000.h5");
    Clock::time_point begin = Clock::now();
    file = save(place, slices, values);
    const double our_seconds = seconds_since(begin);
    begin = Clock::now();
    write_plainly(place, slices, values);
    const double plain_seconds = seconds_since(begin);
    place.clear("plain");
    if (pair == 0) continue;
    ours.push_back(our_seconds);
    plain.push_back(plain_seconds);
    ratios.push_back(plain_seconds / our_seconds);
  }
  const double rate = load_rate(place, file) / 1e9, ratio = median(ratios);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%.0f MB: save %.3f s, plain write and fsync %.3f s, ratio %.3f (%.3f to %.3f)\n",
              double(file.bytes) / 1e6, median(ours), median(plain), ratio, *least, *most);
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
    const zero::perf::Place place(argv[1]);
    return zero::perf::measure(place, int64_t(number(2, 1500) * 1e6), number(3, 0), number(4, 0))
               ? 0
               : 1;
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
