#include "zero/advise/outlook.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/product.hpp"

namespace zero::advise {
namespace {

/// A disk causes a warning if it takes this many times a step's compute, and this many seconds
/// more.
constexpr double kFarLonger = 3, kLeastSeconds = 0.5;

/// Repeats of a product, because other programs may slow any of them. At least two, because the
/// first one prepares the library for its shape. No more start after kMostSeconds.
constexpr int kFewRepeats = 2, kRepeats = 6;
constexpr double kMostSeconds = 0.1;

template <class T>
class Measurement {
 public:
  Measurement(int threads, int64_t width) : stream_(threads), width_(width) {
    adopt_threads(stream_);
    // A GPU is faster on equal values, which need less power.
    std::vector<T> values(size_t(width * width));
    for (size_t i = 0; i < values.size(); ++i) values[i] = T(float(i % 31) / 16.0f - 0.9f);
    for (Arena* arena : {&a_, &b_, &c_}) {
      *arena = Arena(int64_t(values.size() * sizeof(T)), Place::device);
      copy_bytes(stream_, std::as_bytes(std::span(values)), arena->data());
    }
    stream_.wait();
  }

  /// Returns the mean seconds of `calls` products queued in a row.
  double seconds(int calls) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (int call = 0; call < calls; ++call) {
      kernels::product<T, T>(stream_, {.m = width_, .n = width_, .k = width_}, elements(a_),
                             elements(b_), nullptr, elements(c_));
    }
    stream_.wait();
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
  }

 private:
  static T* elements(const Arena& arena) { return reinterpret_cast<T*>(arena.data()); }

  Stream stream_;
  int64_t width_;
  Arena a_, b_, c_;
};

/// Returns the width of products. A GPU needs large ones, several in a row, to reach its rate.
/// Larger ones would need the plan's memory.
int64_t width_of_products() { return drives_devices() ? 4096 : 1024; }
int calls_at_once() { return drives_devices() ? 10 : 1; }

double operations_of(int64_t width) { return 2 * std::pow(double(width), 3); }

/// True if a large product would take too long, judged by a small one. A GPU is never too slow, and
/// starting a small product would cost more than running it.
template <class T>
bool is_too_slow(int threads, double patience) {
  if (drives_devices()) return false;
  constexpr int64_t kNarrow = 256;
  Measurement<T> small(threads, kNarrow);
  small.seconds(1);  // prepares the library for the shape
  // Other programs may slow one of them.
  const double least = std::min({small.seconds(1), small.seconds(1), small.seconds(1)});
  return least * operations_of(width_of_products()) / operations_of(kNarrow) > patience;
}

template <class T>
double measure(int threads, double patience) {
  if (is_too_slow<T>(threads, patience)) return 0;
  const int64_t width = width_of_products();
  Measurement<T> large(threads, width);
  if (drives_devices()) large.seconds(1);
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; i < kRepeats && (i < kFewRepeats || spent < kMostSeconds); ++i) {
    const double seconds = large.seconds(calls_at_once());
    best = std::min(best, seconds);
    spent += seconds * calls_at_once();
  }
  return operations_of(width) / best;
}

}  // namespace

std::vector<DiskFolder> disk_folders(const state::DiskHomes& homes, int64_t rank_bytes,
                                     int node_ranks) {
  std::vector<DiskFolder> disks;
  if (rank_bytes == 0) return disks;
  const int64_t folders = int64_t(homes.folders.size());
  for (const std::string& folder : homes.folders) {
    disks.push_back({.folder = folder,
                     .needed_bytes = node_ranks * ceil_div(rank_bytes, folders),
                     .free_bytes = tiers::free_bytes({folder})});
  }
  return disks;
}

double DiskOutlook::step_seconds() const {
  return rates.seconds_of({.read = step.bytes_read, .written = step.bytes_written});
}

std::string outlook_text(const DiskOutlook& outlook) {
  if (outlook.folders.empty()) return "";
  std::string out;
  for (const DiskFolder& disk : outlook.folders) {
    out += text("disk ", disk.folder, ": needs ", bytes_text(double(disk.needed_bytes)), " of ",
                bytes_text(double(disk.free_bytes)), " free; a rank reads ",
                state::rate_text(outlook.rates.read), ", writes ",
                state::rate_text(outlook.rates.write), " (", outlook.rates.source, ")\n");
  }
  return out + text("its transfers take a predicted ", format("%.3g", outlook.step_seconds()),
                    " s of a step: ", bytes_text(double(outlook.step.bytes_read)), " read, ",
                    bytes_text(double(outlook.step.bytes_written)), " written by a rank\n");
}

std::string outlook_warning(const DiskOutlook& outlook, double compute_seconds) {
  if (outlook.folders.empty()) return "";
  const double seconds = outlook.step_seconds();
  if (seconds < kFarLonger * compute_seconds || seconds - compute_seconds < kLeastSeconds)
    return "";
  return text("a step's transfers take a predicted ", format("%.3g", seconds), " s in ",
              outlook.folders.front().folder, ", its products ", format("%.3g", compute_seconds),
              " s: steps will wait for the disk; zeroapp doctor --nvme ",
              outlook.folders.front().folder,
              " looks for faster settings, larger micro-batches or more of them a step hide more");
}

bool is_worth_a_product_peak(double operations) {
  return operations > kRepeats * calls_at_once() * operations_of(width_of_products());
}

double measure_product_peak(int threads, Dtype dtype, double patience) {
  if (dtype == Dtype::bf16) return measure<bf16>(threads, patience);
  return dtype == Dtype::f16 ? measure<f16>(threads, patience) : measure<float>(threads, patience);
}

}  // namespace zero::advise
