// Ranks: 1

#include "zero/kernels/sample_rows.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/arrays.hpp"
#include "tests/support/device_array.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::DeviceArray;
using testing::doubles;
using testing::noise;

constexpr SampleRows kRows{.samples = 3, .length = 5, .width = 70};

/// What `kernel` writes to so many elements.
template <class T, class Kernel>
std::vector<T> written(int64_t numel, const Kernel& kernel) {
  Stream stream(2);
  adopt_threads(stream);
  const auto out = DeviceArray<T>::of_outputs(numel);
  kernel(stream, out.data());
  stream.wait();
  return out.values();
}

template <class T>
std::vector<T> numbers(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

template <class T>
class SampleRowsKernels : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(SampleRowsKernels, Elements);

TYPED_TEST(SampleRowsKernels, PutNeighboursOfTheSameSampleBesideEachRow) {
  const DeviceArray<TypeParam> x(numbers<TypeParam>({1, 2, 3, 4, 5, 6}));
  const auto out = written<TypeParam>(18, [&](Stream& stream, TypeParam* to) {
    neighbour_rows<TypeParam>(stream, {.samples = 2, .length = 3, .width = 1}, x.data(), to);
  });
  EXPECT_EQ(doubles(out), (std::vector<double>{0, 1, 2, 1, 2, 3, 2, 3, 0,  //
                                               0, 4, 5, 4, 5, 6, 5, 6, 0}));
}

TYPED_TEST(SampleRowsKernels, AddTheThreePlacesOfARow) {
  const DeviceArray<TypeParam> dout(
      numbers<TypeParam>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
  const auto dx = written<TypeParam>(6, [&](Stream& stream, TypeParam* to) {
    neighbour_rows_backward<TypeParam>(stream, {.samples = 2, .length = 3, .width = 1}, dout.data(),
                                       to);
  });
  EXPECT_EQ(doubles(dx), (std::vector<double>{2 + 4, 3 + 5 + 7, 6 + 8, 60, 150, 140}));
}

TYPED_TEST(SampleRowsKernels, OfOneTokenHaveNoNeighbours) {
  const SampleRows rows{.samples = 2, .length = 1, .width = 2};
  const DeviceArray<TypeParam> x(numbers<TypeParam>({1, 2, 3, 4}));
  const auto out = written<TypeParam>(12, [&](Stream& stream, TypeParam* to) {
    neighbour_rows<TypeParam>(stream, rows, x.data(), to);
  });
  EXPECT_EQ(doubles(out), (std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0}));
  const DeviceArray<TypeParam> dout(out);
  const auto dx = written<TypeParam>(4, [&](Stream& stream, TypeParam* to) {
    neighbour_rows_backward<TypeParam>(stream, rows, dout.data(), to);
  });
  EXPECT_EQ(doubles(dx), (std::vector<double>{1, 2, 3, 4}));
}

/// A product with a weight of ones adds neighbours, so the two directions are transposes.
TYPED_TEST(SampleRowsKernels, AgreeWithDoubleLoopsForWideRows) {
  const auto x = noise<TypeParam>(kRows.numel(), 1), dout = noise<TypeParam>(3 * kRows.numel(), 2);
  const DeviceArray<TypeParam> x_there(x), dout_there(dout);
  const auto out = written<TypeParam>(3 * kRows.numel(), [&](Stream& stream, TypeParam* to) {
    neighbour_rows<TypeParam>(stream, kRows, x_there.data(), to);
  });
  const auto dx = written<TypeParam>(kRows.numel(), [&](Stream& stream, TypeParam* to) {
    neighbour_rows_backward<TypeParam>(stream, kRows, dout_there.data(), to);
  });
  std::vector<double> expected_dx(x.size());
  for (int64_t row = 0; row < kRows.samples * kRows.length; ++row)
    for (int64_t part = 0; part < 3; ++part)
      for (int64_t j = 0; j < kRows.width; ++j) {
        const int64_t place = row % kRows.length + part - 1;
        const bool exists = place >= 0 && place < kRows.length;
        const size_t from = size_t((row + part - 1) * kRows.width + j);
        const size_t at = size_t((3 * row + part) * kRows.width + j);
        ASSERT_EQ(float(out[at]), exists ? float(x[from]) : 0.0f) << row << " " << part;
        if (exists) expected_dx[from] += double(float(dout[at]));
      }
  EXPECT_LT(testing::relative_error(dx, expected_dx), testing::rounding<TypeParam>() + 1e-7);
}

TYPED_TEST(SampleRowsKernels, ClearRowsByCountsInPlaceToo) {
  const auto x = noise<TypeParam>(kRows.numel(), 1);
  const DeviceArray<TypeParam> there(x);
  const DeviceArray<int32_t> counts({5, 0, 2});
  const auto out = written<TypeParam>(kRows.numel(), [&](Stream& stream, TypeParam* to) {
    clear_padding<TypeParam>(stream, kRows, counts.data(), there.data(), to);
  });
  for (int64_t i = 0; i < kRows.numel(); ++i) {
    const int64_t row = i / kRows.width, count = std::vector{5, 0, 2}[size_t(row / 5)];
    ASSERT_EQ(float(out[size_t(i)]), row % 5 < count ? float(x[size_t(i)]) : 0.0f) << i;
  }
  Stream stream(1);
  adopt_threads(stream);
  clear_padding<TypeParam>(stream, kRows, counts.data(), there.data(), there.data());
  stream.wait();
  EXPECT_TRUE(testing::same_bits(there.values(), out));
}

TYPED_TEST(SampleRowsKernels, TakeRowsAndGiveTheirGradientBackAmongZeros) {
  for (const RowsTaken& taken : {RowsTaken{0, 1}, RowsTaken{2, 3}, RowsTaken{0, 5}}) {
    const auto x = noise<TypeParam>(kRows.numel(), 1);
    const DeviceArray<TypeParam> there(x);
    const int64_t numel = kRows.samples * taken.count * kRows.width;
    const auto out = written<TypeParam>(numel, [&](Stream& stream, TypeParam* to) {
      take_rows<TypeParam>(stream, kRows, taken, there.data(), to);
    });
    const DeviceArray<TypeParam> dout(out);
    const auto dx = written<TypeParam>(kRows.numel(), [&](Stream& stream, TypeParam* to) {
      take_rows_backward<TypeParam>(stream, kRows, taken, dout.data(), to);
    });
    for (int64_t i = 0; i < kRows.numel(); ++i) {
      const int64_t place = i / kRows.width % kRows.length - taken.first;
      const bool is_taken = place >= 0 && place < taken.count;
      ASSERT_EQ(float(dx[size_t(i)]), is_taken ? float(x[size_t(i)]) : 0.0f) << i;
      if (!is_taken) continue;
      const int64_t sample = i / kRows.width / kRows.length;
      const int64_t at = (sample * taken.count + place) * kRows.width + i % kRows.width;
      ASSERT_EQ(float(out[size_t(at)]), float(x[size_t(i)])) << i;
    }
  }
}

TEST(SampleRowsRefusal, NamesRowsThatSamplesDoNotHave) {
  Stream stream(1);
  std::vector<float> x(8), out(8);
  const SampleRows rows{.samples = 2, .length = 2, .width = 2};
  const auto taken = [&](const RowsTaken& which) {
    take_rows<float>(stream, rows, which, x.data(), out.data());
  };
  EXPECT_NO_THROW(taken({1, 1}));
  EXPECT_THROW(taken({1, 2}), Error);
  EXPECT_THROW(taken({0, 0}), Error);
  EXPECT_THROW(neighbour_rows<float>(stream, {2, 0, 2}, x.data(), out.data()), Error);
}

}  // namespace
}  // namespace zero::kernels
