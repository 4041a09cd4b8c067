// Ranks: 1 2 3 4
#include "zero/state/set_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/count_allocations.hpp"
#include "tests/support/refusal.hpp"

namespace zero::state {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kMicro = 3;

/// Texts of 1 to 5 tokens in turn. Sample i is labelled i % 3, but each seventh has no label.
class Texts : public Dataset {
 public:
  explicit Texts(int64_t samples) : Dataset(columns_of(5), samples, std::nullopt) {}
  std::string form() const override { return "texts"; }
  LengthPair lengths(int64_t sample) const override { return {0, 1 + (sample * 2) % 5}; }
  double label(int64_t position) const override {
    const int64_t sample = sample_at(position);
    return sample % 7 == 6 ? kNan : double(sample % 3);
  }

 private:
  static std::vector<DataColumn> columns_of(int64_t tokens) {
    return {{.name = "tokens", .numel = tokens}};
  }
  std::vector<DataColumn> columns_for(const LengthPair& pair) const override {
    return columns_of(pair.target);
  }
  void read_sample(int64_t, ColumnSpans) const override {}
  int64_t counted_in(int64_t) const override { return 1; }
};

/// Scores that depend on the sample alone; past the end of the set, on nothing that counts.
float score_of(int64_t sample, int64_t label) {
  return std::sin(float(1 + sample * 5 + label * 3));
}

/// Scores as the ranks of an evaluation take them: rank r of N has micro-batches j N + r.
void take_all(SetScores& scores, const Dataset& data, int64_t labels) {
  const launch::Peers peers;
  std::vector<float> rows(size_t(kMicro * labels));
  scores.clear();
  for (int64_t first = 0; first < data.samples(); first += kMicro * peers.ranks()) {
    const int64_t own = first + peers.rank() * kMicro;
    for (int64_t i = 0; i < kMicro * labels; ++i)
      rows[size_t(i)] = score_of(data.sample_at(own + i / labels), i % labels);
    scores.take(own, rows);
  }
  scores.share(peers);
}

TEST(SetScores, AreThoseOfTheFileOnEveryRankWhateverTheOrderAndTheCount) {
  for (const int64_t samples : {1, 2, 7, 23}) {
    for (const bool grouped : {false, true}) {
      Texts data(samples);
      if (grouped) data.group({{0, 2}, {0, 5}}, kMicro);
      if (grouped && samples > 2) EXPECT_NE(data.sample_at(1), 1) << "another order";
      SetScores scores(data, 3);
      take_all(scores, data, 3);
      const model::LabelScores view = scores.view();
      ASSERT_EQ(view.samples(), samples);
      ASSERT_EQ(int64_t(view.scores.size()), samples * 3);
      for (int64_t sample = 0; sample < samples; ++sample) {
        for (int64_t label = 0; label < 3; ++label)
          EXPECT_EQ(view.of(sample)[size_t(label)], score_of(sample, label));
        const double truth = view.truths[size_t(sample)];
        EXPECT_TRUE(sample % 7 == 6 ? std::isnan(truth) : truth == double(sample % 3)) << sample;
      }
    }
  }
}

/// The accuracy of 23 samples.
double accuracy_in(bool grouped) {
  Texts data(23);
  if (grouped) data.group({{0, 2}, {0, 5}}, kMicro);
  SetScores scores(data, 3);
  take_all(scores, data, 3);
  return model::accuracy(scores.view());
}

TEST(SetScores, GiveTheMetricsOfOneRank) {
  int64_t hits = 0, labelled = 0;
  for (int64_t sample = 0; sample < 23; ++sample) {
    int64_t best = 0;
    for (int64_t label = 1; label < 3; ++label)
      if (score_of(sample, label) > score_of(sample, best)) best = label;
    labelled += sample % 7 != 6;
    hits += sample % 7 != 6 && best == sample % 3;
  }
  EXPECT_EQ(labelled, 20);
  for (const bool grouped : {false, true})
    EXPECT_EQ(accuracy_in(grouped), double(hits) / double(labelled));
}

TEST(SetScores, ReachOtherRanksBitForBit) {
  const launch::Peers peers;
  // Each rank has one sample: NaN with bits of its own, both zeros, and both infinities.
  const float odd[] = {std::bit_cast<float>(0xFFC12345u), -0.0f, 0.0f,
                       -std::numeric_limits<float>::infinity()};
  Texts data(peers.ranks());
  SetScores scores(data, 1);
  scores.take(peers.rank(), std::span(odd).subspan(size_t(peers.rank()), 1));
  scores.share(peers);
  for (int rank = 0; rank < peers.ranks(); ++rank) {
    EXPECT_EQ(std::bit_cast<uint32_t>(scores.view().scores[size_t(rank)]),
              std::bit_cast<uint32_t>(odd[rank]));
  }
  EXPECT_TRUE(std::isnan(model::pearson(scores.view())));
}

TEST(SetScores, OfAnEarlierEvaluationAreForgotten) {
  Texts data(4);
  SetScores scores(data, 1);
  take_all(scores, data, 1);
  const float first = scores.view().scores[3];
  const launch::Peers peers;
  scores.clear();
  if (peers.rank() == 0) scores.take(0, std::vector<float>{9, 8, 7, 6});
  scores.share(peers);
  EXPECT_EQ(scores.view().scores[3], 6);
  EXPECT_NE(first, 6);
}

TEST(SetScores, AllocateNothingAfterTheyAreMade) {
  Texts data(20000);
  SetScores classes(data, 3), numbers(data, 1);
  const launch::Peers peers;
  const std::vector<float> rows(3, 0.5f);
  double sum = 0;
  testing::allocations = 0;
  testing::counting = true;
  for (SetScores* scores : {&classes, &numbers}) {
    scores->clear();
    for (int64_t at = 0; at < 20000; ++at) {
      if (at % peers.ranks() == peers.rank())
        scores->take(at, std::span(rows).first(size_t(scores->view().labels)));
    }
    scores->share(peers);
  }
  sum += model::accuracy(classes.view()) + model::f1(classes.view()) +
         model::matthews(classes.view()) + model::spearman(numbers.view());
  testing::counting = false;
  EXPECT_EQ(testing::allocations, 0) << sum;
}

TEST(SetScores, RefuseASetWithTooMany) {
  EXPECT_THAT(testing_support::refusal_of(Exit::kInput, [] { SetScores(Texts(2'000'000), 3); }),
              HasSubstr("data.max_validation_samples: metrics of labels keep the scores of all "
                        "2000000 samples, 3 each, and at most 2097152 scores are kept; write "
                        "699050 or less"));
}

}  // namespace
}  // namespace zero::state
