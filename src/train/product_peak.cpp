#include "zero/train/product_peak.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "zero/kernels/product.hpp"

namespace zero::train {
namespace {

constexpr int kRepeats = 6;
constexpr double kMostSeconds =
    0.1;  // of all repeats but the last: neighbours may slow any of them

template <class T>
class Measurement {
 public:
  Measurement(int threads, int64_t width)
      : stream_(threads), width_(width), a_(size_t(width * width), T(1.0f)), b_(a_), c_(a_) {
    adopt_threads(stream_);
  }

  double seconds() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    kernels::product<T, T>(stream_, {.m = width_, .n = width_, .k = width_}, a_.data(), b_.data(),
                           nullptr, c_.data());
    stream_.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

 private:
  Stream stream_;
  int64_t width_;
  std::vector<T> a_, b_, c_;
};

template <class T>
double measure(int threads) {
  // The first call also makes the library ready for the shape; a small one tells what it costs.
  constexpr int64_t kSmall = 256, kLarge = 1024;
  Measurement<T> small(threads, kSmall);
  small.seconds();
  if (small.seconds() * (kLarge / kSmall) * (kLarge / kSmall) * (kLarge / kSmall) > 0.04) return 0;
  Measurement<T> large(threads, kLarge);
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; i < kRepeats && spent < kMostSeconds; ++i) {
    const double seconds = large.seconds();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return 2.0 * kLarge * kLarge * kLarge / best;
}

}  // namespace

double measure_product_peak(int threads, Dtype dtype) {
  if (dtype == Dtype::bf16) return measure<bf16>(threads);
  return dtype == Dtype::f16 ? measure<f16>(threads) : measure<float>(threads);
}

}  // namespace zero::train
