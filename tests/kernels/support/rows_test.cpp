// Ranks: 1

#include "kernels/support/rows.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"

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

}  // namespace
}  // namespace zero::kernels
