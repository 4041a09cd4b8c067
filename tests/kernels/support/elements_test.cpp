// Ranks: 1

#include "kernels/support/elements.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels {
namespace {

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

struct Same {
  KOKKOS_FUNCTION float operator()(float x, float) const { return x; }
};

template <class Out, class In>
std::vector<Out> converted(const std::vector<In>& from) {
  std::vector<Out> to(from.size());
  Stream stream(2);
  map_elements(stream, "zero::conversion_test", int64_t(from.size()),
               Mapped<Out, In>{from.data(), nullptr, to.data()}, Same());
  stream.wait();
  return to;
}

/// Every number of a 16-bit type.
template <class T>
std::vector<T> all_numbers() {
  std::vector<T> numbers;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    T number;
    number.bits = uint16_t(bits);
    if (!std::isnan(float(number))) numbers.push_back(number);
  }
  return numbers;
}

template <class T>
class Conversion : public ::testing::Test {};
using Halves = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(Conversion, Halves);

TYPED_TEST(Conversion, OfEveryNumberHasTheBitsOfTheHost) {
  const auto numbers = all_numbers<TypeParam>();
  const auto values = converted<float>(numbers);
  for (size_t i = 0; i < numbers.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(float(numbers[i])));
}

TYPED_TEST(Conversion, RoundsNumbersMiddlesAndTheirNeighboursAsTheHostDoes) {
  std::vector<float> values = {65519.99f, 65520.0f, 3.4e38f, -3.4e38f, 1e-45f, -1e-45f};
  float last = 0.0f;
  for (const TypeParam number : all_numbers<TypeParam>()) {
    const float value = float(number), middle = 0.5f * value + 0.5f * last;
    for (const float at : {value, middle}) {
      values.insert(values.end(),
                    {std::nextafter(at, -INFINITY), at, std::nextafter(at, INFINITY)});
    }
    last = value;
  }
  std::erase_if(values, [](float value) { return std::isnan(value); });
  const auto rounded = converted<TypeParam>(values);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(rounded[i].bits, TypeParam(values[i]).bits) << values[i];
}

TYPED_TEST(Conversion, OfNaNIsNaN) {
  for (const TypeParam& value : converted<TypeParam>(std::vector<float>(9, NAN)))
    EXPECT_TRUE(std::isnan(float(value)));
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
