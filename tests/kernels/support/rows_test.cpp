// Ranks: 1

#include "kernels/support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/arrays.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::rows_test";

/// y[r] = 2 x[r] + y[r] in each row.
struct AddTwice {
  int64_t width;
  const float* x;
  bf16* y;

  template <class AnyRow>
  KOKKOS_FUNCTION void operator()(const AnyRow& row, int64_t r) const {
    const float* const from = x + r * width;
    bf16* const to = y + r * width;
    row.write(width, to, [=](int64_t j) { return 2.0f * from[j] + float(to[j]); });
  }
};

TEST(Rows, OfTeamsWriteWhatThoseOfThreadsWrite) {
  for (int64_t width : {1, 3, 4, 5, 9, 600}) {
    const auto x = testing::noise<float>(3 * width, 1);
    auto one = testing::noise<bf16>(3 * width, 2), team = one;
    for (int64_t r = 0; r < 3; ++r) AddTwice{width, x.data(), one.data()}(HostRow(), r);
    Stream stream(2);
    const int threads = kHostSpace ? 1 : TeamRow::kThreads;
    launch(kLabel, Kokkos::TeamPolicy<Space>(space_of(stream), 3, threads),
           TeamLoop<AddTwice>{{width, x.data(), team.data()}});
    stream.wait();
    EXPECT_TRUE(testing::same_bits(one, team)) << width;
  }
}

// What Kokkos does to launch a team must be allowed while a stream is recorded.
TEST(Rows, OfTeamsAreRecorded) {
  if (!Recording::is_possible()) GTEST_SKIP() << "a host's kernels have run when they are called";
  constexpr int64_t kWidth = 200, kRows = 3;
  const std::vector<float> x(kWidth * kRows, 1.0f);
  std::vector<bf16> y(kWidth * kRows, bf16(0.0f));
  Stream stream(1);
  const auto add = [&] {
    for_each_row(stream, kLabel, kRows, AddTwice{kWidth, x.data(), y.data()});
  };
  add();
  stream.wait();
  Recording recording;
  recording.make(stream, add);
  for (int i = 0; i < 2; ++i) recording.queue(stream);
  stream.wait();
  for (const bf16 value : y) ASSERT_EQ(float(value), 6.0f) << "one run and two that are replayed";
}

}  // namespace
}  // namespace zero::kernels
