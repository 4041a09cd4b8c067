// Ranks: 1
// LAMB's norms of tensors that stand side by side in the rows of a parameter.

#include "kernels/support/lamb_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "tests/support/optimizer_state.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

using testing::decision;
using testing::Moments;
using testing::OptimizerState;

/// Three tensors of 37 rows of 98, 61 and 24 columns, which begin behind 100 elements of another
/// one: blocks and slices begin within rows, and within tensors.
constexpr int64_t kPackedRows = 37, kFirstEnd = 98, kSecondEnd = 159, kPackedColumns = 183;
constexpr int64_t kPackedBegin = 100, kPackedNumel = kPackedBegin + kPackedRows * kPackedColumns;
constexpr int32_t kPackedTensors = 4;

/// The parts of both parameters in [begin, end), counted from begin.
std::vector<TensorSegment> packed_segments_in(int64_t begin, int64_t end) {
  const int64_t split = std::clamp(kPackedBegin, begin, end);
  std::vector<TensorSegment> parts;
  if (begin < split) parts.push_back({0, split - begin, 0.0f, 0});
  if (split < end) {
    parts.push_back({.begin = split - begin,
                     .end = end - begin,
                     .weight_decay = 0.1f,
                     .tensor = 1,
                     .tensors = 3,
                     .ends = {kFirstEnd, kSecondEnd, kPackedColumns},
                     .offset = split - kPackedBegin});
  }
  return parts;
}

int32_t packed_tensor_of(int64_t element) {
  if (element < kPackedBegin) return 0;
  const int64_t column = (element - kPackedBegin) % kPackedColumns;
  return column < kFirstEnd ? 1 : column < kSecondEnd ? 2 : 3;
}

/// A way to run an update: slices that begin at `begins`, on host or device.
struct PackedRun {
  std::vector<int64_t> begins = {0};
  int threads = 1;
  Place place = Place::device;
};

template <class T, class G>
void run_packed_lamb(OptimizerState<T, G>& state, const StepState& step, PackedRun run = {}) {
  Stream stream(run.threads, run.place);
  std::vector<TensorNorms> norms(kPackedTensors, TensorNorms{});
  run.begins.push_back(kPackedNumel);
  for (size_t r = 0; r + 1 < run.begins.size(); ++r) {
    std::vector<TensorNorms> own(kPackedTensors, TensorNorms{});
    lamb_norms(stream, {}, packed_segments_in(run.begins[r], run.begins[r + 1]), &step,
               state.from(run.begins[r]), run.begins[r], own.data());
    stream.wait();
    for (size_t t = 0; t < norms.size(); ++t) {
      norms[t].weight.add(own[t].weight);
      norms[t].update.add(own[t].update);
    }
  }
  for (size_t r = 0; r + 1 < run.begins.size(); ++r) {
    lamb_apply(stream, {}, packed_segments_in(run.begins[r], run.begins[r + 1]), &step,
               state.from(run.begins[r]), norms.data());
  }
  stream.wait();
}

template <class P>
class LambStoredNorms : public ::testing::Test {};
TYPED_TEST_SUITE(LambStoredNorms, testing::OptimizerTypes);

/// One tensor's weights are a hundred times another's, so that a norm of all would show.
template <class State>
void spread_packed_masters(State& state) {
  constexpr float kScale[] = {1, 0.01f, 0.1f, 1};
  for (int64_t i = 0; i < kPackedNumel; ++i)
    state.set_master(size_t(i), kScale[packed_tensor_of(i)] * state.master(size_t(i)));
}

TYPED_TEST(LambStoredNorms, FollowTheDoubleLoopOfEachTensor) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> state(kPackedNumel);
  spread_packed_masters(state);
  std::vector<Moments> moments(kPackedNumel);
  std::vector<double> masters(kPackedNumel), u(kPackedNumel);
  for (size_t i = 0; i < kPackedNumel; ++i) masters[i] = state.master(i);
  for (int update = 1; update <= 5; ++update) {
    state.new_gradient(uint64_t(update));
    run_packed_lamb(state, decision(update, 0.01f));
    double weight[kPackedTensors] = {}, length[kPackedTensors] = {};
    for (size_t i = 0; i < kPackedNumel; ++i) {
      const int32_t tensor = packed_tensor_of(int64_t(i));
      const double g = double(float(typename TypeParam::T(float(state.grad[i]))));
      const double decay = tensor == 0 ? 0 : double(0.1f);
      u[i] = moments[i].direction(g, update) + decay * masters[i];
      weight[tensor] += masters[i] * masters[i];
      length[tensor] += u[i] * u[i];
    }
    for (size_t i = 0; i < kPackedNumel; ++i) {
      const int32_t tensor = packed_tensor_of(int64_t(i));
      masters[i] -=
          0.01 * std::clamp(std::sqrt(weight[tensor] / length[tensor]), 0.01, 10.0) * u[i];
    }
  }
  for (size_t i = 0; i < kPackedNumel; ++i) ASSERT_NEAR(state.master(i), masters[i], 1e-6) << i;
}

TYPED_TEST(LambStoredNorms, AreTheSameBitsInSlicesByThreadsAndOnTheHost) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> whole(kPackedNumel),
      cut(kPackedNumel), threaded(kPackedNumel), host(kPackedNumel);
  for (int update = 1; update <= 3; ++update) {
    for (auto* state : {&whole, &cut, &threaded, &host}) state->new_gradient(uint64_t(update));
    run_packed_lamb(whole, decision(update, 0.01f));
    run_packed_lamb(cut, decision(update, 0.01f), {.begins = {0, 2048, 6144}});
    run_packed_lamb(threaded, decision(update, 0.01f), {.threads = 2});
    run_packed_lamb(host, decision(update, 0.01f),
                    {.begins = {0, 4096}, .threads = 2, .place = Place::host});
  }
  EXPECT_TRUE(cut.same_bits_as(whole));
  EXPECT_TRUE(threaded.same_bits_as(whole));
  EXPECT_TRUE(host.same_bits_as(whole));
}

}  // namespace
}  // namespace zero::kernels
