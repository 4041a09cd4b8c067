// Ranks: 1
#include "zero/io/interop/tensor_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/temp_file.hpp"
#include "tests/support/torch_bytes.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::TempFile;
using Shape = std::vector<int64_t>;

TEST(TensorFile, TypesHaveSizesAndSomeAreRead) {
  EXPECT_EQ(file_dtype("F32")->usable, Dtype::f32);
  EXPECT_EQ(file_dtype("F64")->bytes, 8);
  EXPECT_FALSE(file_dtype("F64")->usable);
  EXPECT_EQ(file_dtype("f32"), nullptr);
}

TEST(TensorFile, SizesBeyondAnInt64AreNone) {
  EXPECT_EQ(bytes_of_shape(Shape{2, 3}, 4), 24);
  EXPECT_EQ(bytes_of_shape(Shape{}, 4), 4);
  EXPECT_EQ(bytes_of_shape(Shape{int64_t(1) << 62, 0}, 4), 0);
  EXPECT_EQ(bytes_of_shape(Shape{int64_t(1) << 62}, 4), std::nullopt);
}

/// A file of the numbers 0, 1, 2, ... with one tensor at element 3 of them.
template <class T>
class StridedFile {
 public:
  StridedFile(const Shape& shape, const Shape& strides, int64_t numel)
      : written_("strided", numbers(numel)),
        shape_(shape),
        strides_(strides),
        file_(InputFile(written_.path()), {{.name = "a",
                                            .dtype = "",
                                            .usable = dtype_of<T>(),
                                            .shape = shape,
                                            .begin = 3 * int64_t(sizeof(T)),
                                            .end = numel * int64_t(sizeof(T)),
                                            .strides = strides}}) {}

  std::vector<float> read(int64_t first, int64_t count) const {
    std::vector<float> out(size_t(count), -1.0f);
    file_.read(file_.tensors()[0], first, out);
    return out;
  }
  std::vector<float> expected(int64_t first, int64_t count) const {
    std::vector<float> out;
    for (int64_t i = first; i < first + count; ++i) {
      int64_t place = 3, rest = i;
      for (size_t axis = shape_.size(); axis-- > 0; rest /= shape_[axis])
        place += rest % shape_[axis] * strides_[axis];
      out.push_back(float(T(float(place))));
    }
    return out;
  }
  int64_t numel() const { return file_.tensors()[0].numel(); }

 private:
  static std::string numbers(int64_t numel) {
    std::vector<T> all;
    for (int64_t i = 0; i < numel; ++i) all.push_back(T(float(i)));
    return bytes_of_numbers(all);
  }

  TempFile written_;
  Shape shape_, strides_;
  TensorFile file_;
};

template <class T>
void read_all_slices(const Shape& shape, const Shape& strides, int64_t numel) {
  const StridedFile<T> file(shape, strides, numel);
  for (int64_t first = 0; first <= file.numel(); ++first)
    for (int64_t count = 0; count <= file.numel() - first; ++count)
      ASSERT_EQ(file.read(first, count), file.expected(first, count)) << first << " " << count;
}

TEST(TensorFile, ReadsEverySliceOfTensorsWithStrides) {
  for (const auto& [shape, strides] :
       std::vector<std::pair<Shape, Shape>>{{{3, 4}, {1, 3}},           // transposed
                                            {{3, 2}, {5, 1}},           // some columns
                                            {{4}, {3}},                 // each third
                                            {{2, 3, 4}, {4, 8, 1}},     // two axes exchanged
                                            {{2, 3, 4}, {1, 2, 6}},     // all axes in turn
                                            {{2, 1, 3}, {1, 77, 4}},    // an axis of one
                                            {{1, 2, 3}, {0, 1, 2}}}) {  // rows of one
    read_all_slices<float>(shape, strides, 40);
    read_all_slices<bf16>(shape, strides, 40);
    read_all_slices<f16>(shape, strides, 40);
  }
}

TEST(TensorFile, ReadsLargeTransposedTensorsInPieces) {
  constexpr int64_t kRows = 70'000, kColumns = 3;
  const StridedFile<float> file({kRows, kColumns}, {1, kRows}, 3 + kRows * kColumns);
  EXPECT_EQ(file.read(0, file.numel()), file.expected(0, file.numel()));
  EXPECT_EQ(file.read(100'000, 7), file.expected(100'000, 7));
}

}  // namespace
}  // namespace zero
