// AdamW in bytes a second beside the machine's stream rate, which is the best of copy, triad and
// update in place, measured in turns with it. Every byte counts that crosses the memory's bus,
// so the line that a store first reads counts too. Ends with status 1 if on one thread the share of
// the stream rate is below 0.85 (median) in bf16 or fp32.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kernels/support/elements.hpp"
#include "perf/support/timing.hpp"
#include "zero/device/arena.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::perf {
namespace {

constexpr int64_t kNumel = int64_t(16) << 20;
constexpr int kRounds = 15;
constexpr double kGoal = 0.85;
const std::string kLabel = "zero::stream";

using kernels::OptimizerArrays, kernels::OptimizerSegment, kernels::StepState;

/// Places for arrays of kNumel elements, one behind the other.
class Arrays {
 public:
  explicit Arrays(int threads) : arena_(kNumel * 16) { arena_.touch(threads); }
  template <class T>
  T* take() {
    T* const array = reinterpret_cast<T*>(arena_.data() + used_);
    used_ += kNumel * int64_t(sizeof(T));
    return array;
  }

 private:
  Arena arena_;
  int64_t used_ = 0;
};

/// Work whose time is measured, and the bytes that it moves.
struct Job {
  const char* name;
  double bytes_per_element;
  std::function<void()> work;
  std::vector<double> rates = {};
};

std::vector<Job> stream_jobs(Stream& stream, Arrays& arrays) {
  float* const a = arrays.take<float>();
  float* const b = arrays.take<float>();
  float* const c = arrays.take<float>();
  const auto run = [&stream](const auto& element) {
    return [&stream, element] {
      kernels::for_each_element(stream, kLabel, kNumel, element);
      stream.wait();
    };
  };
  return {{"copy", 12, run([=](int64_t i) { c[i] = a[i]; })},
          {"triad", 16, run([=](int64_t i) { c[i] = a[i] + 3.0f * b[i]; })},
          {"update", 8, run([=](int64_t i) { c[i] = 0.5f * c[i]; })}};
}

StepState third_update() {
  StepState state{};
  state.apply = 1;
  state.grad_multiplier = 1.0f;
  state.learning_rate = 1e-4f;
  state.unbias1 = 3.69f;
  state.unbias2_sqrt = 0.0547f;
  return state;
}

template <class T, class G>
Job adam_job(const char* name, Stream& stream, Arrays& arrays) {
  using Rest = typename kernels::MasterRest<T>::type;
  constexpr bool kHasRest = !std::is_same_v<T, float>;
  OptimizerArrays<T, G> a{};
  a.weight = arrays.take<T>();
  a.rest = kHasRest ? arrays.take<Rest>() : nullptr;
  a.momentum = arrays.take<float>();
  a.variance = arrays.take<float>();
  G* const grad = arrays.take<G>();
  a.grad = grad;
  for (int64_t i = 0; i < kNumel; ++i) grad[i] = G(float(i % 17 - 8) / 64.0f);
  const double bytes =
      2.0 * double(sizeof(T) + (kHasRest ? sizeof(Rest) : 0) + 8) + double(sizeof(G));
  return {name, bytes, [=, &stream] {
            static const StepState state = third_update();
            const std::array<OptimizerSegment, 1> segments{{{0, kNumel, 0.1f}}};
            kernels::adam<T, G>(stream, {}, segments, &state, a);
            stream.wait();
          }};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(std::vector<Job>& jobs) {
  for (int round = 0; round < kRounds; ++round) {
    for (Job& job : jobs) {
      const double seconds = best_seconds(1, job.work);
      job.rates.push_back(job.bytes_per_element * double(kNumel) / seconds);
    }
  }
}

/// The median of the shares of the stream rate, each of two rates measured side by side.
template <class T, class G>
double compare(const char* name, int threads) {
  Stream stream(threads);
  adopt_threads(stream);
  Arrays for_streams(threads), for_adam(threads);
  std::vector<Job> jobs = stream_jobs(stream, for_streams);
  jobs.push_back(adam_job<T, G>(name, stream, for_adam));
  measure(jobs);
  const Job& best = *std::max_element(jobs.begin(), jobs.end() - 1, [](const Job& a, const Job& b) {
    return median(a.rates) < median(b.rates);
  });
  std::vector<double> ratios;
  for (size_t round = 0; round < size_t(kRounds); ++round) {
    ratios.push_back(jobs[3].rates[round] / best.rates[round]);
  }
  std::printf("%d threads:", threads);
  for (const Job& job : jobs) std::printf("  %s %.1f", job.name, median(job.rates) * 1e-9);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf(" GB/s (%.0f B an element);  share of the stream rate %.2f (%.2f to %.2f)\n",
              jobs[3].bytes_per_element, median(ratios), *least, *most);
  std::fflush(stdout);
  return median(ratios);
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  std::printf("AdamW on %lld elements, medians of %d rounds\n", (long long)zero::perf::kNumel,
              zero::perf::kRounds);
  bool passed = true;
  for (int threads : {1, 2}) {
    const double half = zero::perf::compare<zero::bf16, zero::bf16>("adamw bf16", threads);
    zero::perf::compare<zero::bf16, float>("adamw bf16, fp32 sum", threads);
    const double single = zero::perf::compare<float, float>("adamw fp32", threads);
    if (threads == 1) passed = std::min(half, single) >= zero::perf::kGoal;
  }
  std::printf("one thread, at least %.2f of the stream rate: %s\n", zero::perf::kGoal,
              passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}
