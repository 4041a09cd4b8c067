// Ranks: 1

#include "kernels/support/elements.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"

namespace zero::kernels {
namespace {

using testing::noise, testing::same_bits;

struct Difference {
  KOKKOS_FUNCTION float operator()(float x, float y) const { return x - y; }
};

template <class T>
class MapElements : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(MapElements, Elements);

TYPED_TEST(MapElements, CallsTheFunctionWithBothNumbers) {
  for (int64_t numel : {0, 1, 7, 8, 9, 70000}) {
    const auto x = noise<TypeParam>(numel, 1), y = noise<TypeParam>(numel, 2);
    std::vector<float> out(x.size());
    Stream stream(2);
    map_elements(stream, "zero::map_test", numel,
                 Mapped<float, TypeParam, TypeParam>{x.data(), y.data(), out.data()}, Difference());
    stream.wait();
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], float(x[i]) - float(y[i]));
  }
}

TYPED_TEST(MapElements, InRunsHaveTheBitsOfSingleOnes) {
  for (int64_t numel : {1, 7, 8, 9, 16, 1001}) {
    const auto x = noise<TypeParam>(numel, 1);
    auto one = noise<float>(numel, 2), runs = one;
    ASSERT_TRUE(takes_runs(x.data()) && takes_runs(runs.data())) << "the heap's alignment";
    using Loop = Map<Difference, float, TypeParam, float>;
    const Loop single{{x.data(), one.data(), one.data()}, {}};
    for (int64_t i = 0; i < numel; ++i) single(i);
    const MapOfRun<Difference, float, TypeParam, float> run{
        {{x.data(), runs.data(), runs.data()}, {}}, numel};
    for (int64_t r = 0; r < ceil_div(numel, kRunNumel); ++r) run(r);
    EXPECT_TRUE(same_bits(one, runs)) << numel;
  }
}

TYPED_TEST(MapElements, OfOneArrayGiveZeroForTheOther) {
  const auto x = noise<TypeParam>(20, 1);
  std::vector<TypeParam> out(x.size());
  const MapOfRun<Difference, TypeParam, TypeParam, None> run{{{x.data(), nullptr, out.data()}, {}},
                                                             20};
  for (int64_t r = 0; r < 3; ++r) run(r);
  EXPECT_TRUE(same_bits(x, out));
}

TEST(MapElementsRefusal, IsOfArraysThatBeginWithinARun) {
  const std::vector<float> x(8);
  EXPECT_TRUE(takes_runs(x.data()));
  EXPECT_FALSE(takes_runs(x.data() + 1));
  EXPECT_TRUE(takes_runs(x.data() + 4));
  EXPECT_TRUE(takes_runs<None>(nullptr));
}

}  // namespace
}  // namespace zero::kernels
