// Ranks: 1

#include "io/data/row_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/refusal.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Documents of these lengths. Token i has id i; the tokens in `unlearnt` are not learnt.
class Lengths : public DocumentSource {
 public:
  explicit Lengths(const std::vector<int64_t>& lengths, std::vector<int64_t> unlearnt = {})
      : begins_(lengths.size() + 1), unlearnt_(std::move(unlearnt)) {
    std::partial_sum(lengths.begin(), lengths.end(), begins_.begin() + 1);
  }
  int64_t add(int64_t first, int64_t) override { return first; }
  int64_t begin(int64_t row) const override { return begins_.at(size_t(row)); }
  void read(int64_t first, std::span<int32_t> out) const override {
    std::iota(out.begin(), out.end(), int32_t(first));
  }
  void read_targets(int64_t first, std::span<int32_t> out) const override { read(first, out); }
  int64_t learnt(int64_t first, int64_t count) const override {
    return count - std::ranges::count_if(unlearnt_, [&](int64_t token) {
             return token >= first && token < first + count;
           });
  }
  std::string place(int64_t row) const override { return "line " + std::to_string(row + 1); }
  Counts counts() const override { return {}; }
  std::string format() const override { return ""; }
  int64_t items() const override { return int64_t(begins_.size()) - 1; }
  int64_t vocab_size() const override { return 1; }
  uint64_t fingerprint() const override { return 0; }

 private:
  std::vector<int64_t> begins_, unlearnt_;
};

/// The documents of each row.
std::vector<std::vector<int32_t>> documents(const RowPlan& plan) {
  std::vector<std::vector<int32_t>> rows;
  for (int64_t row = 0; row < plan.rows(); ++row) {
    rows.emplace_back();
    for (int64_t i = plan.begins[size_t(row)]; i < plan.begins[size_t(row) + 1]; ++i)
      rows.back().push_back(plan.pieces[size_t(i)].document);
  }
  return rows;
}

TEST(RowPlan, PutsEachDocumentInTheFullestRowWithRoom) {
  const Lengths source({2, 7, 3, 5, 2, 10, 4});
  const RowPlan plan = pack_documents(source, {0, 7}, {.length = 10});
  // From the longest on: 10 | 7 | 5 | 4 beside 5 (room 5, not 3) | 3 beside 7 | 2 | 2.
  EXPECT_THAT(documents(plan),
              ElementsAre(ElementsAre(5), ElementsAre(1, 2), ElementsAre(3, 6), ElementsAre(0, 4)));
  EXPECT_THAT(plan.counted, ElementsAre(9, 6 + 2, 4 + 3, 1 + 1));
  EXPECT_DOUBLE_EQ(plan.padding(), 7.0 / 40);
  EXPECT_FALSE(plan.is_windows);
}

TEST(RowPlan, CutsWhatIsLongerThanARowAndLeavesOutWhatHasNoTarget) {
  const Lengths source({1, 4, 5, 0, 3}, /*unlearnt=*/{11, 12});
  for (const auto& make : {pack_documents, one_document_a_row}) {
    const RowPlan plan = make(source, {0, 5}, {.length = 4});
    EXPECT_THAT(documents(plan), ElementsAre(ElementsAre(1), ElementsAre(2)));
    EXPECT_EQ(plan.pieces[1].count, 4);
    EXPECT_EQ(plan.cut, 1) << "that of 5 tokens, not that of 4";
    EXPECT_EQ(plan.unlearnt, 3) << "of 1 token, of 0, and one without a learnt token";
    EXPECT_EQ(
        testing_support::refusal_of(Exit::kInput,
                                    [&] {
                                      make(source, {0, 5}, {.length = 4, .refuse_long = true});
                                    }),
        "line 3: the document has 5 tokens with its end, but data.sequence_length = 4; write "
        "5 or more, or data.too_long = \"cut\"");
    EXPECT_THAT(documents(make(source, {3, 2}, {.length = 4})), IsEmpty());
  }
}

TEST(RowPlan, PacksRandomDocumentsWithoutLossOrOverflow) {
  std::vector<int64_t> lengths;
  uint32_t state = 1;
  for (int i = 0; i < 5000; ++i) lengths.push_back(2 + (state = state * 1664525 + 1013904223) % 60);
  const Lengths source(lengths);
  const RowPlan plan = pack_documents(source, {0, 5000}, {.length = 100});
  std::vector<bool> seen(5000);
  for (const std::vector<int32_t>& row : documents(plan)) {
    int64_t tokens = 0;
    for (const int32_t document : row) {
      EXPECT_FALSE(seen[size_t(document)]);
      seen[size_t(document)] = true;
      tokens += lengths[size_t(document)];
    }
    ASSERT_LE(tokens, 100);
  }
  EXPECT_EQ(plan.pieces.size(), 5000u);
  EXPECT_LT(plan.padding(), 0.01);
}

TEST(RowPlan, CutsAStreamInWindowsWithATarget) {
  const Lengths source({3, 4, 5, 1}, /*unlearnt=*/{5, 6, 7});
  const RowPlan plan = windows_of_documents(source, {0, 4}, {.length = 3});
  EXPECT_TRUE(plan.is_windows);
  EXPECT_THAT(plan.counted, ElementsAre(3, 3)) << "5 to 7 of the second window are not learnt";
  EXPECT_EQ(plan.unlearnt, 1);
  EXPECT_EQ(plan.pieces[1].first, 8);
  EXPECT_EQ(plan.pieces[1].document, 2);
  const RowPlan tail = windows_of_documents(source, {2, 2}, {.length = 3});
  EXPECT_THAT(tail.counted, ElementsAre(3, 1)) << "8 to 10, then 12";
  EXPECT_EQ(windows_of_documents(source, {2, 1}, {.length = 4}).rows(), 1) << "a token is left";
}

TEST(RowPlan, RefusesTooLongDocumentsOfAStreamWhichWindowsCut) {
  const Lengths source({3, 4});
  EXPECT_THAT(testing_support::refusal_of(
                  Exit::kUsage,
                  [&] {
                    windows_of_documents(source, {0, 2}, {.length = 10, .refuse_long = true});
                  }),
              HasSubstr("data.too_long"));
}

}  // namespace
}  // namespace zero
