// Ranks: 1

#include "io/data/label_form.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/tree_folder.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;

TEST(LongestFirst, KeepsWhatThePackageTokenizersKeeps) {
  std::ifstream file(testing_support::tree_folder() / "tests/golden/spm/longest_first.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_EQ(rows.size(), 1500u);
  for (const auto& row : rows) {
    const LengthPair kept =
        longest_first({.source = row[0], .target = row[1]}, row[2].get<int64_t>() - 3);
    EXPECT_EQ(kept, (LengthPair{.source = row[3], .target = row[4]})) << row;
  }
}

TEST(LongestFirst, CutsTheLongerOneThenBothToHalves) {
  EXPECT_EQ(longest_first({3, 5}, 8), (LengthPair{3, 5})) << "fits";
  EXPECT_EQ(longest_first({3, 9}, 8), (LengthPair{3, 5}));
  EXPECT_EQ(longest_first({9, 3}, 8), (LengthPair{5, 3}));
  EXPECT_EQ(longest_first({6, 9}, 9), (LengthPair{4, 5})) << "the longer one keeps more";
  EXPECT_EQ(longest_first({9, 6}, 9), (LengthPair{5, 4}));
  EXPECT_EQ(longest_first({7, 7}, 9), (LengthPair{4, 5})) << "a tie";
}

/// A set of two samples, 7 and 7 8, with labels 1 and 0.
class Two : public LabelDataset {
 public:
  explicit Two(const LabelForm& form, std::vector<std::string> classes = {"no", "yes"})
      : LabelDataset(form, std::move(classes), 2, std::nullopt) {}
  LengthPair lengths(int64_t sample) const override { return {.target = sample + 1}; }

 private:
  int64_t copy_ids(int64_t sample, std::span<int32_t> out) const override {
    for (int64_t i = 0; i <= sample; ++i) out[size_t(i)] = int32_t(7 + i);
    return sample + 1;
  }
  double label_of(int64_t sample) const override { return sample == 0 ? 1 : 0; }
};

/// The columns of the sample at a position: tokens, count, and the bits of the label.
std::vector<int32_t> columns_at(const Dataset& data, int64_t position, size_t form) {
  std::vector<int32_t> ids;
  for (const DataColumn& column : data.columns_of(form)) ids.resize(ids.size() + column.numel, 77);
  std::vector<std::span<std::byte>> places;
  size_t begin = 0;
  for (const DataColumn& column : data.columns_of(form)) {
    places.push_back(std::as_writable_bytes(std::span(ids).subspan(begin, size_t(column.numel))));
    begin += size_t(column.numel);
  }
  data.read(position, form, places);
  return ids;
}

const LabelForm kForm{.length = 4, .pad = 5, .cls = 1, .sep = 2};

TEST(LabelDataset, FillsTokensTheirCountAndTheClass) {
  const Two data(kForm);
  EXPECT_THAT(data.columns(), ElementsAre(DataColumn{"tokens", Dtype::i32, 4},
                                          DataColumn{"token_count", Dtype::i32, 1},
                                          DataColumn{"labels", Dtype::i32, 1}));
  EXPECT_THAT(columns_at(data, 0, 0), ElementsAre(7, 5, 5, 5, 1, 1));
  EXPECT_THAT(columns_at(data, 1, 0), ElementsAre(7, 8, 5, 5, 2, 0));
  EXPECT_THAT(columns_at(data, 2, 0), ElementsAre(5, 5, 5, 5, 1, -1)) << "behind the end";
  EXPECT_EQ(data.counted(0, 5), 2);
  EXPECT_EQ(data.label(0), 1);
  EXPECT_EQ(data.label(1), 0);
  EXPECT_NE(data.label(2), data.label(2)) << "NaN";
  EXPECT_EQ(data.form(), "at most 4 tokens and a label");
}

TEST(LabelDataset, FillsRealLabelsAsNumbers) {
  LabelForm form = kForm;
  form.is_real = true;
  const Two data(form, {});
  EXPECT_EQ(data.columns()[2], (DataColumn{"labels", Dtype::f32, 1}));
  EXPECT_EQ(std::bit_cast<float>(columns_at(data, 0, 0)[5]), 1.0f);
  const float none = std::bit_cast<float>(columns_at(data, 3, 0)[5]);
  EXPECT_NE(none, none);
  EXPECT_EQ(data.shown(0)[1].words, "1");
}

TEST(LabelDataset, IsShownWithoutPaddingAndWithItsLabelInWords) {
  const std::vector<ShownIds> shown = Two(kForm).shown(0);
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].name, "tokens");
  EXPECT_THAT(shown[0].ids, ElementsAre(7));
  EXPECT_TRUE(shown[0].is_text);
  EXPECT_EQ(shown[1].name, "label");
  EXPECT_EQ(shown[1].words, "yes");
}

TEST(LabelDataset, HasTheSameIdsInEveryLengthThatCoversThem) {
  Two data(kForm);
  data.group({{.target = 2}, {.target = 4}}, 1);
  EXPECT_EQ(data.columns_of(0)[0].numel, 2);
  EXPECT_THAT(columns_at(data, 1, 0), ElementsAre(7, 8, 2, 0));
  EXPECT_THAT(columns_at(data, 1, 1), ElementsAre(7, 8, 5, 5, 2, 0));
  EXPECT_EQ(data.form_of(0, 2), 0u);
}

}  // namespace
}  // namespace zero
