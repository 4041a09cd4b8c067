// Ranks: 1
#include "zero/io/data/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;

/// Five pictures of four pixels, each with its class: picture i is of class 10 + i.
class Pictures : public Dataset {
 public:
  explicit Pictures(std::optional<uint64_t> seed = {})
      : Dataset(
            {{.name = "pixels", .dtype = Dtype::f32, .numel = 4}, {.name = "class", .numel = 1}}, 5,
            seed) {}
  std::string form() const override { return "4 pixels and a class"; }

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override {
    std::ranges::fill(values_in<float>(out[0]), 0.5f + float(sample));
    values_in<int32_t>(out[1])[0] = sample < samples() ? int32_t(10 + sample) : kNotCounted;
  }
  int64_t counted_in(int64_t sample) const override { return sample < samples() ? 1 : 0; }
};

TEST(Dataset, ReadsColumnsOfSeveralTypesAndLengths) {
  std::vector<float> pixels(4);
  std::vector<int32_t> label(1);
  const std::array places = {std::as_writable_bytes(std::span(pixels)),
                             std::as_writable_bytes(std::span(label))};
  Pictures().read(2, places);
  EXPECT_THAT(pixels, ElementsAre(2.5f, 2.5f, 2.5f, 2.5f));
  EXPECT_THAT(label, ElementsAre(12));
  EXPECT_THROW(Pictures().read(2, ColumnSpans(places).first(1)), Error);
  const std::array swapped = {places[1], places[0]};
  EXPECT_THROW(Pictures().read(2, swapped), Error);
}

TEST(Dataset, CountsWhatIsThereAndShufflesForEver) {
  EXPECT_EQ(Pictures().counted(3, 4), 2);
  const Pictures shuffled(7);
  std::vector<int32_t> classes;
  for (int64_t i = 5; i < 10; ++i) classes.push_back(shuffled.shown(i)[0].ids[0]);
  std::ranges::sort(classes);
  EXPECT_THAT(classes, ElementsAre(10, 11, 12, 13, 14));
  EXPECT_EQ(shuffled.counted(3, 4), 4);
}

TEST(Dataset, ShowsTheColumnsOfIds) {
  const std::vector<ShownIds> shown = Pictures().shown(1);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].name, "class");
  EXPECT_THAT(shown[0].ids, ElementsAre(11));
  EXPECT_FALSE(shown[0].is_text);
}

}  // namespace
}  // namespace zero
