#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "zero/advise/machine_file.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/product.hpp"

namespace zero::advise {
namespace {

constexpr int kRepeats = 6;
constexpr double kMostSeconds =
    0.1;  // of all repeats but the last: neighbours may slow any of them

template <class T>
class Measurement {
 public:
  Measurement(int threads, int64_t width) : stream_(threads), width_(width) {
    adopt_threads(stream_);
    const std::vector<T> ones(size_t(width * width), T(1.0f));
    for (Arena* arena : {&a_, &b_, &c_}) {
      *arena = Arena(int64_t(ones.size() * sizeof(T)), Place::device);
      copy_bytes(stream_, std::as_bytes(std::span(ones)), arena->data());
    }
    stream_.wait();
  }

  double seconds() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    kernels::product<T, T>(stream_, {.m = width_, .n = width_, .k = width_}, elements(a_),
                           elements(b_), nullptr, elements(c_));
    stream_.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

 private:
  static T* elements(const Arena& arena) { return reinterpret_cast<T*>(arena.data()); }

  Stream stream_;
  int64_t width_;
  Arena a_, b_, c_;
};

/// A GPU shows its rate on larger products only; larger still, they would want memory of the
/// plan's.
int64_t width_of_products() { return drives_devices() ? 4096 : 1024; }

double operations_of(int64_t width) { return 2 * std::pow(double(width), 3); }

template <class T>
double measure(int threads) {
  // The first call also makes the library ready for the shape; a small one tells what it costs.
  const int64_t width = width_of_products();
  const int64_t narrow = drives_devices() ? 512 : 256;
  const double times = std::pow(double(width) / double(narrow), 3);
  Measurement<T> small(threads, narrow);
  small.seconds();
  if (small.seconds() * times > 0.04) return 0;
  Measurement<T> large(threads, width);
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; i < kRepeats && spent < kMostSeconds; ++i) {
    const double seconds = large.seconds();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return operations_of(width) / best;
}

}  // namespace

bool is_worth_a_product_peak(double operations) {
  return operations > kRepeats * operations_of(width_of_products());
}

double measure_product_peak(int threads, Dtype dtype) {
  if (dtype == Dtype::bf16) return measure<bf16>(threads);
  return dtype == Dtype::f16 ? measure<f16>(threads) : measure<float>(threads);
}

}  // namespace zero::advise
