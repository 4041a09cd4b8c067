// Ranks: 1

#include "io/data/span_corruption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/counting_tokens.hpp"
#include "tests/support/pair_sample.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using testing_support::Counting;
using testing_support::sample_of;
using Sample = testing_support::PairSample;

constexpr int32_t kEnd = 1, kStart = 2, kPad = 3, kSentinel = 9999;

PairForm form_of(int64_t source, int64_t target) {
  return {
      .source_length = source, .target_length = target, .pad = kPad, .end = kEnd, .start = kStart};
}

CorruptedSpans::Options options_of(int64_t tokens, uint64_t seed = 5) {
  return {.form = form_of(64, 20),
          .noise = {.first_sentinel = kSentinel, .seed = seed},
          .tokens = tokens};
}

/// The text that a sample was made of: each sentinel of the source gives way to the tokens behind
/// it in the targets.
std::vector<int32_t> mended(const Sample& sample) {
  std::map<int32_t, std::vector<int32_t>> spans;
  int32_t sentinel = 0;
  for (const int32_t id : sample.next) {
    if (id == kEnd || id < 0) break;
    if (id > 9000) {
      sentinel = id;
    } else {
      spans[sentinel].push_back(id);
    }
  }
  std::vector<int32_t> text;
  for (const int32_t id : sample.source) {
    if (id == kEnd) break;
    if (id > 9000) {
      text.insert(text.end(), spans[id].begin(), spans[id].end());
    } else {
      text.push_back(id);
    }
  }
  return text;
}

TEST(SpanCounts, AreTheShareOfTokensInSpansOfTheirMean) {
  const SpanCounts counts = span_counts(100, {});
  EXPECT_EQ(counts.noise, 15);
  EXPECT_EQ(counts.kept, 85);
  EXPECT_EQ(counts.spans, 5);
  EXPECT_EQ(counts.source(), 91);
  EXPECT_EQ(counts.targets(), 22);
  EXPECT_EQ(span_counts(2, {}).noise, 1);
  EXPECT_EQ(span_counts(2, {.density = 0.99}).kept, 1);
  EXPECT_EQ(span_counts(10, {.density = 0.9, .mean_span = 1}).spans, 1) << "one is kept";
}

/// The lengths of the paper's pre-training: 512 tokens of source come from 568 of text and have 114
/// targets, without the sentinel behind the last span, which takes one more.
TEST(SpanCounts, FillTheLengthsOfThePaper) {
  EXPECT_EQ(longest_window(form_of(512, 115), {}), 568);
  EXPECT_EQ(span_counts(568, {}).source(), 512);
  EXPECT_EQ(span_counts(568, {}).targets(), 115);
  EXPECT_LT(longest_window(form_of(512, 114), {}), 568);
  EXPECT_EQ(longest_window(form_of(2, 9), {}), 0);
}

TEST(RandomRuns, CutAllItemsInRunsOfOneOrMoreEachWayAsOften) {
  std::map<std::vector<int64_t>, int> ways;
  for (int64_t place = 0; place < 6000; ++place) {
    RandomRuns runs(5, 3, 1, place, 0);
    const std::vector<int64_t> lengths = {runs.next(), runs.next(), runs.next()};
    ASSERT_EQ(lengths[0] + lengths[1] + lengths[2], 5);
    ++ways[lengths];
  }
  ASSERT_EQ(ways.size(), 6u);
  for (const auto& [lengths, count] : ways) EXPECT_NEAR(count, 1000, 120);  // 4 deviations of 29
}

TEST(CorruptedSpans, HoldTheWholeTextInItsOrder) {
  const Counting source(1000);
  const CorruptedSpans data(source, options_of(1000));
  const int64_t window = longest_window(form_of(64, 20), {});
  EXPECT_EQ(data.samples(), 1000 / window);
  for (int64_t i = 0; i < data.samples(); ++i) {
    std::vector<int32_t> text(static_cast<size_t>(window));
    std::iota(text.begin(), text.end(), int32_t(100 + i * window));
    EXPECT_EQ(mended(sample_of(data, i)), text);
  }
}

TEST(CorruptedSpans, CountSentinelsDownAndEndBothSides) {
  const Counting source(1000);
  const CorruptedSpans data(source, options_of(1000));
  const Sample sample = sample_of(data, 3);
  std::vector<int32_t> in_source, in_targets;
  for (const int32_t id : sample.source)
    if (id > 9000) in_source.push_back(id);
  for (const int32_t id : sample.next)
    if (id > 9000) in_targets.push_back(id);
  ASSERT_GE(in_source.size(), 2u);
  for (size_t i = 0; i < in_source.size(); ++i) EXPECT_EQ(in_source[i], kSentinel - int32_t(i));
  in_source.push_back(in_source.back() - 1);
  EXPECT_EQ(in_targets, in_source) << "one more stands behind the last span";
  EXPECT_EQ(sample.source[size_t(sample.count) - 1], kEnd);
  EXPECT_EQ(sample.previous[0], kStart);
  for (size_t i = 1; i < sample.previous.size(); ++i) {
    EXPECT_EQ(sample.previous[i], sample.next[i - 1] < 0 ? kPad : sample.next[i - 1]);
  }
}

TEST(CorruptedSpans, ASampleDependsOnSeedAndPlaceAlone) {
  const Counting source(2000);
  CorruptedSpans::Options shuffled = options_of(2000);
  shuffled.shuffle_seed = 8;
  const CorruptedSpans whole(source, options_of(2000)), other(source, options_of(2000, 6)),
      mixed(source, shuffled);
  std::set<std::vector<int32_t>> differing;
  for (int64_t i = 0; i < whole.samples(); ++i) {
    EXPECT_EQ(sample_of(mixed, i).source, sample_of(whole, mixed.sample_at(i)).source);
    if (sample_of(other, i).source != sample_of(whole, i).source) differing.insert({int32_t(i)});
  }
  EXPECT_GT(int64_t(differing.size()), whole.samples() * 9 / 10);
  EXPECT_NE(sample_of(whole, 0).next.size(), 0u);
}

TEST(CorruptedSpans, KeepATailAndCountItsTargets) {
  const int64_t window = longest_window(form_of(64, 20), {});
  const Counting source(window + 20);
  CorruptedSpans::Options options = options_of(window + 20);
  options.keep_tail = true;
  const CorruptedSpans data(source, options);
  ASSERT_EQ(data.samples(), 2);
  int64_t counted = 0;
  for (int64_t i = 0; i < 3; ++i) {
    for (const int32_t id : sample_of(data, i).next) counted += id >= 0;
  }
  EXPECT_EQ(data.counted(0, 3), counted);
  EXPECT_EQ(data.counted(1, 1), span_counts(20, {}).targets());
  EXPECT_EQ(sample_of(data, 2).count, 1) << "a missing sample has something to look at";
  EXPECT_EQ(data.counted(2, 1), 0);
}

TEST(CorruptedSpans, KeepATailOfTwoTokensAndNoneOfOne) {
  const int64_t window = longest_window(form_of(64, 20), {});
  const auto samples = [&](int64_t tail) {
    const Counting source(window + tail);
    CorruptedSpans::Options options = options_of(window + tail);
    options.keep_tail = true;
    return CorruptedSpans(source, options).samples();
  };
  EXPECT_EQ(samples(0), 1);
  EXPECT_EQ(samples(1), 1);
  EXPECT_EQ(samples(2), 2);
}

/// Lengths of the runs of a sample's kept tokens, or of its noise.
std::vector<int64_t> runs_of(const std::vector<int32_t>& ids) {
  std::vector<int64_t> runs = {0};
  for (const int32_t id : ids) {
    if (id == kEnd || id < 0) break;
    if (id > 9000) {
      runs.push_back(0);
    } else {
      ++runs.back();
    }
  }
  return runs;
}

/// With as much noise as text, one random stream would cut both alike.
TEST(CorruptedSpans, CutKeptTokensAndNoiseByStreamsOfTheirOwn) {
  const Counting source(2000);
  CorruptedSpans::Options options = options_of(2000);
  options.form = form_of(62, 62);
  options.noise.density = 0.5;
  const SpanCounts counts = span_counts(longest_window(options.form, options.noise), options.noise);
  ASSERT_EQ(counts.kept, counts.noise);
  const CorruptedSpans data(source, options);
  for (int64_t i = 0; i < data.samples(); ++i) {
    const Sample sample = sample_of(data, i);
    std::vector<int64_t> kept = runs_of(sample.source), noise = runs_of(sample.next);
    kept.pop_back();                               // nothing stands behind the last span
    noise = {noise.begin() + 1, noise.end() - 1};  // nor in front of the first one
    EXPECT_EQ(kept.size(), noise.size());
    EXPECT_NE(kept, noise) << "sample " << i;
  }
}

TEST(RandomRuns, AreTheDrawsOfTheirStreamPlaceAndSeed) {
  const auto lengths = [](uint64_t seed, int64_t place, uint32_t stream) {
    RandomRuns runs(40, 6, seed, place, stream);
    std::vector<int64_t> all;
    for (int i = 0; i < 6; ++i) all.push_back(runs.next());
    return all;
  };
  const std::vector<int64_t> first = lengths(1, 7, 0);
  EXPECT_EQ(lengths(1, 7, 0), first);
  EXPECT_NE(lengths(2, 7, 0), first);
  EXPECT_NE(lengths(1, 8, 0), first);
  EXPECT_NE(lengths(1, 7 + (int64_t(1) << 32), 0), first);
  EXPECT_NE(lengths(1, 7, 1), first);
  EXPECT_THAT(first, ElementsAre(2, 5, 13, 1, 2, 17));
}

TEST(CorruptedSpans, AreShownWithoutPaddingOnce) {
  const Counting source(1000);
  const std::vector<ShownIds> shown = CorruptedSpans(source, options_of(1000)).shown(0);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].ids.back(), kEnd);
  EXPECT_THAT(shown[1].ids, ElementsAre(kStart));
  EXPECT_EQ(shown[2].ids.back(), kEnd);
}

TEST(CorruptedSpans, RefuseARangeOutsideTheirSource) {
  const Counting source(100);
  EXPECT_THROW(CorruptedSpans(source, options_of(101)), Error);
  EXPECT_THROW(CorruptedSpans(source, options_of(5)), Error);
}

}  // namespace
}  // namespace zero
