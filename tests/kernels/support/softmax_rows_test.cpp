// Ranks: 1

#include "kernels/support/softmax_rows.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels {
namespace {

constexpr float kInfinity = INFINITY;
const std::string kLabel = "zero::softmax_rows_test";

/// Rows of logits of which five in seven are classes; results of one thread or of teams.
template <class T>
struct RowCase {
  int64_t rows, columns, vocabulary;
  std::vector<float> x;
  std::vector<int32_t> targets;
  std::vector<double> losses;
  std::unique_ptr<StepInputs> inputs = std::make_unique<StepInputs>();
  std::unique_ptr<StepState> state = std::make_unique<StepState>();

  RowCase(int64_t r, int64_t c)
      : rows(r), columns(c), vocabulary(ceil_div(5 * c, int64_t(7))), losses(size_t(r)) {
    x = noise<float>(rows * columns, 1, 3.0);
    for (int64_t i = 0; i < rows; ++i) targets.push_back(int32_t(i * 7 % vocabulary));
    inputs->counted_tokens = 4;
    state->loss_scale = 64.0f;
  }

  template <class Loss>
  SoftmaxCrossEntropy<T, Loss> kernel(bool gradient, const Loss& loss) {
    return {{reinterpret_cast<std::byte*>(x.data()), vocabulary, columns},
            {targets.data(), losses.data(), inputs.get(), state.get()},
            gradient,
            loss};
  }
  template <class Loss = PlainLoss>
  void run_on_threads(const Loss& loss = {}) {
    for (int64_t r = 0; r < rows; ++r) kernel(true, loss)(HostRow(), r);
  }
  /// The device's way; on the host with teams of one thread.
  template <class Loss = PlainLoss>
  void run_on_teams(bool gradient = true, const Loss& loss = {}) {
    Stream stream(2);
    const int threads = kHostSpace ? 1 : kSoftmaxThreads;
    launch(kLabel, Kokkos::TeamPolicy<Space>(space_of(stream), int(rows), threads),
           TeamLoop<SoftmaxCrossEntropy<T, Loss>>{kernel(gradient, loss)});
    stream.wait();
  }
  std::vector<T> row(int64_t r) const {
    std::vector<T> gradient(static_cast<size_t>(columns));
    std::memcpy(gradient.data(), x.data() + r * columns, gradient.size() * sizeof(T));
    return gradient;
  }
};

template <class T>
class SoftmaxRows : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(SoftmaxRows, Elements);

TYPED_TEST(SoftmaxRows, OfTeamsAgreeWithThoseOfThreads) {
  for (int64_t columns : {1, 7, 8, 9, 64, 2050, 5000}) {
    RowCase<TypeParam> one(5, columns), team(5, columns);
    one.targets[2] = team.targets[2] = -1;
    one.run_on_threads();
    team.run_on_teams();
    for (int64_t r = 0; r < one.rows; ++r) {
      EXPECT_NEAR(one.losses[size_t(r)], team.losses[size_t(r)], 1e-5);
      const auto expected = testing::doubles(one.row(r));
      EXPECT_LT(relative_error(team.row(r), expected), testing::rounding<TypeParam>() + 1e-6)
          << columns;
      for (int64_t j = one.vocabulary; j < columns; ++j)
        ASSERT_EQ(float(team.row(r)[size_t(j)]), 0.0f) << "padding " << j;
    }
  }
}

TYPED_TEST(SoftmaxRows, OfTeamsAgreeWithThoseOfThreadsWithAScaleABiasAndLabelSmoothing) {
  const auto bias = noise<TypeParam>(5000, 2, 3.0);
  const LossWithOptions<TypeParam> loss{0.5f, 0.25f, bias.data()};
  for (int64_t columns : {7, 64, 5000}) {
    RowCase<TypeParam> one(3, columns), team(3, columns);
    one.targets[2] = team.targets[2] = -1;
    one.run_on_threads(loss);
    team.run_on_teams(true, loss);
    for (int64_t r = 0; r < one.rows; ++r) {
      EXPECT_NEAR(one.losses[size_t(r)], team.losses[size_t(r)], 1e-5);
      const auto expected = testing::doubles(one.row(r));
      EXPECT_LT(relative_error(team.row(r), expected), testing::rounding<TypeParam>() + 1e-6);
    }
  }
}

TYPED_TEST(SoftmaxRows, WithoutGradientStayLogits) {
  RowCase<TypeParam> team(3, 100);
  const std::vector<float> logits = team.x;
  team.run_on_teams(false);
  EXPECT_EQ(team.x, logits);
}

TYPED_TEST(SoftmaxRows, OfTeamsTakeInfinitiesAsThreadsDo) {
  constexpr int64_t kColumns = 28;  // 20 classes
  RowCase<TypeParam> one(4, kColumns);
  std::fill_n(one.x.begin(), 12, -kInfinity);             // a whole stretch of nothing, and more
  std::fill_n(one.x.begin() + kColumns, 20, -kInfinity);  // nothing at all
  one.x[2 * kColumns + 3] = kInfinity;
  one.x[3 * kColumns + 3] = std::nanf("");
  one.targets[0] = 15;
  RowCase<TypeParam> team = [&] {
    RowCase<TypeParam> copy(4, kColumns);
    copy.x = one.x;
    copy.targets = one.targets;
    return copy;
  }();
  one.run_on_threads();
  team.run_on_teams();
  EXPECT_NEAR(one.losses[0], team.losses[0], 1e-5);
  EXPECT_TRUE(std::isfinite(team.losses[0]));
  EXPECT_EQ(float(team.row(0)[3]), 0.0f);
  for (size_t r : {1u, 2u, 3u}) {
    EXPECT_FALSE(std::isfinite(one.losses[r])) << r;
    EXPECT_FALSE(std::isfinite(team.losses[r])) << r;
  }
}

}  // namespace
}  // namespace zero::kernels
