#pragma once
/// AdamW beside the machine's stream rate, which is the best of copy, triad and update in place,
/// measured in turns with it. Every byte counts that crosses the memory's bus, so the line that a
/// store first reads counts too.

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "kernels/support/elements.hpp"
#include "perf/support/timing.hpp"
#include "zero/device/arena.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::perf {

/// Places for arrays of `numel` elements, one behind the other, of 16 bytes an element in all.
class Arrays {
 public:
  Arrays(int64_t numel, int threads) : numel_(numel), arena_(numel * 16) { arena_.touch(threads); }
  template <class T>
  T* take() {
    T* const array = reinterpret_cast<T*>(arena_.data() + used_);
    used_ += numel_ * int64_t(sizeof(T));
    return array;
  }
  int64_t numel() const { return numel_; }

 private:
  int64_t numel_;
  Arena arena_;
  int64_t used_ = 0;
};

/// Work whose time is measured, and the bytes that it moves.
struct Job {
  const char* name;
  double bytes;
  std::function<void()> work;
  std::vector<double> rates = {};  ///< bytes a second, a round each
};

inline std::vector<Job> stream_jobs(Stream& stream, Arrays& arrays) {
  float* const a = arrays.take<float>();
  float* const b = arrays.take<float>();
  float* const c = arrays.take<float>();
  const int64_t numel = arrays.numel();
  const auto run = [&stream, numel](const auto& element) {
    return [&stream, numel, element] {
      static const std::string label = "zero::stream";
      kernels::for_each_element(stream, label, numel, element);
      stream.wait();
    };
  };
  const auto bytes = [numel](double an_element) { return an_element * double(numel); };
  return {{"copy", bytes(12), run([=](int64_t i) { c[i] = a[i]; })},
          {"triad", bytes(16), run([=](int64_t i) { c[i] = a[i] + 3.0f * b[i]; })},
          {"update", bytes(8), run([=](int64_t i) { c[i] = 0.5f * c[i]; })}};
}

inline kernels::StepState third_update() {
  kernels::StepState state{};
  state.apply = 1;
  state.grad_multiplier = 1.0f;
  state.learning_rate = 1e-4f;
  state.unbias1 = 3.69f;
  state.unbias2_sqrt = 0.0547f;
  return state;
}

template <class T, class G>
Job adam_job(const char* name, Stream& stream, Arrays& arrays) {
  using Low = typename kernels::MasterLow<T>::type;
  constexpr bool kHasLow = !std::is_same_v<T, float>;
  kernels::OptimizerArrays<T, G> a{};
  a.weight = arrays.take<T>();
  a.low = kHasLow ? arrays.take<Low>() : nullptr;
  for (float*& moments : a.states) moments = arrays.take<float>();
  G* const grad = arrays.take<G>();
  a.grad = grad;
  const int64_t numel = arrays.numel();
  for (int64_t i = 0; i < numel; ++i) grad[i] = G(float(i % 17 - 8) / 64.0f);
  const double an_element =
      2.0 * double(sizeof(T) + (kHasLow ? sizeof(Low) : 0) + 8) + double(sizeof(G));
  return {name, an_element * double(numel), [=, &stream] {
            static const kernels::StepState state = third_update();
            const std::array<kernels::OptimizerSegment, 1> segments{{{0, numel, 0.1f}}};
            kernels::update<T, G>(stream, {}, segments, &state, a);
            stream.wait();
          }};
}

inline void measure_in_turns(std::vector<Job>& jobs, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Job& job : jobs) job.rates.push_back(job.bytes / best_seconds(1, job.work));
  }
}

/// The last job's share of the best of the others, round by round.
inline std::vector<double> shares_of_best(const std::vector<Job>& jobs) {
  const Job& best = *std::max_element(jobs.begin(), jobs.end() - 1, [](const Job& a, const Job& b) {
    return median(a.rates) < median(b.rates);
  });
  std::vector<double> shares;
  for (size_t round = 0; round < best.rates.size(); ++round) {
    shares.push_back(jobs.back().rates[round] / best.rates[round]);
  }
  return shares;
}

}  // namespace zero::perf
