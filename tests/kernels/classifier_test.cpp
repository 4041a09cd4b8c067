// Ranks: 1

#include "zero/kernels/classifier.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <thread>

#include "tests/support/classifier_reference.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/device.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;
using testing::sixteenths;

template <class T>
struct Inputs {
  std::vector<T> x, table, bias;
  bool trains_bias = false;
  ClassifierOptions options = {};
  std::vector<int32_t> targets;
  float loss_scale = 1.0f;
  int64_t counted_tokens = 1;

  explicit Inputs(const ClassifierExtents& extents)
      : x(sixteenths<T>(extents.rows * extents.width, 1)),
        table(sixteenths<T>(extents.padded_vocabulary * extents.width, 2)) {
    for (int64_t r = 0; r < extents.rows; ++r)
      targets.push_back(r % 3 == 2 ? -1 : int32_t(r * 7 % extents.vocabulary));
  }
};

template <class T>
struct Result {
  std::vector<T> dx, dtable, dlogit_bias;
  std::vector<TokenScore> scores;
  StepSums sums{};
};

struct Call {
  StepInputs inputs{};
  StepState state{};
  StepSums sums{};
};

template <class T>
Result<T> run_classifier(const ClassifierExtents& extents, const Inputs<T>& in,
                         bool gradient = true, int threads = 1, bool trained = true) {
  Stream stream(threads);
  adopt_threads(stream);
  Result<T> out{poisoned<T>(extents.rows * extents.width),
                poisoned<T>(extents.padded_vocabulary * extents.width),
                poisoned<T>(extents.padded_vocabulary),
                std::vector<TokenScore>(size_t(extents.rows), TokenScore{-9, -9})};
  const bool dtable = gradient && trained, dlogit_bias = gradient && in.trains_bias;
  const int64_t bytes = classifier_scratch_bytes(extents, dtype_of<T>(), dtable, dlogit_bias);
  auto scratch = poisoned<int64_t>((bytes + 7) / 8 + 1);
  // On the heap, which a device can read where a thread's stack is not.
  const auto call = std::make_unique<Call>();
  call->inputs.counted_tokens = in.counted_tokens;
  call->state.loss_scale = in.loss_scale;
  classifier<T>(stream, extents, &call->inputs, &call->state,
                {.x = in.x.data(),
                 .table = in.table.data(),
                 .targets = in.targets.data(),
                 .dx = gradient ? out.dx.data() : nullptr,
                 .dtable = dtable ? out.dtable.data() : nullptr,
                 .scratch = scratch.data(),
                 .logit_bias = in.bias.empty() ? nullptr : in.bias.data(),
                 .dlogit_bias = dlogit_bias ? out.dlogit_bias.data() : nullptr,
                 .scores = out.scores.data()},
                &call->sums, in.options);
  stream.wait();
  out.sums = call->sums;
  EXPECT_EQ(scratch.back(), -1);
  return out;
}

template <class T>
void check(const ClassifierExtents& extents, int threads = 1, bool biased = false,
           const ClassifierOptions& options = {}) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " rows ", extents.rows, " in chunks of ",
                    extents.chunk_rows, ", classes ", extents.vocabulary, " of ",
                    extents.padded_vocabulary));
  Inputs<T> in(extents);
  in.loss_scale = 64.0f;
  in.counted_tokens = 4;
  in.options = options;
  if (biased) in.bias = sixteenths<T>(extents.padded_vocabulary, 3);
  in.trains_bias = biased && options.logit_scale == 1;
  const testing::ClassifierInputs of{
      testing::doubles(in.x),  testing::doubles(in.table), in.targets, options.logit_scale,
      options.label_smoothing, testing::doubles(in.bias),  options.cap};
  const auto expected = testing::classifier_reference(extents, of, 16.0);
  const Result<T> got = run_classifier(extents, in, true, threads);
  if (options.label_smoothing == 0) testing::expect_scores(extents, of, got.scores);
  EXPECT_NEAR(got.sums.loss.value(), expected.loss, 1e-6 * expected.loss + 1e-12);
  EXPECT_EQ(got.sums.nonfinite_loss, 0);
  EXPECT_LT(relative_error(got.dx, expected.dx), 2 * testing::rounding<T>() + 1e-6);
  EXPECT_LT(relative_error(got.dtable, expected.dtable), 2 * testing::rounding<T>() + 1e-6);
  for (int64_t i = extents.vocabulary * extents.width; i < int64_t(got.dtable.size()); ++i)
    ASSERT_EQ(float(got.dtable[size_t(i)]), 0.0f) << "padding " << i;
  if (!in.trains_bias) return;
  EXPECT_LT(relative_error(got.dlogit_bias, expected.dlogit_bias),
            2 * testing::rounding<T>() + 1e-6);
  for (int64_t v = extents.vocabulary; v < extents.padded_vocabulary; ++v)
    ASSERT_EQ(float(got.dlogit_bias[size_t(v)]), 0.0f) << "padding " << v;
  for (int64_t r = 2; r < extents.rows; r += 3)
    for (int64_t j = 0; j < extents.width; ++j)
      ASSERT_EQ(float(got.dx[size_t(r * extents.width + j)]), 0.0f) << "row " << r;
}

template <class T>
class Classifier : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Classifier, Elements);

TYPED_TEST(Classifier, AgreesWithDoubleLoopsInOneChunkAndInSeveral) {
  for (int64_t chunk : {1, 8, 20, 33, 100})
    check<TypeParam>(
        {.rows = 33, .width = 24, .vocabulary = 70, .padded_vocabulary = 128, .chunk_rows = chunk},
        2);
}

TYPED_TEST(Classifier, AgreesWithDoubleLoopsForAnyVocabulary) {
  for (int64_t vocabulary : {1, 2, 31, 32, 33, 257, 2048, 2049, 5003})
    check<TypeParam>({.rows = 7,
                      .width = 10,
                      .vocabulary = vocabulary,
                      .padded_vocabulary = vocabulary + vocabulary % 3,
                      .chunk_rows = 4});
}

TYPED_TEST(Classifier, OfATableThatIsNotTrainedGivesTheSameLossAndInputsGradient) {
  for (int64_t chunk : {8, 33}) {
    const ClassifierExtents extents{
        .rows = 33, .width = 24, .vocabulary = 70, .padded_vocabulary = 128, .chunk_rows = chunk};
    const Inputs<TypeParam> in(extents);
    const auto both = run_classifier(extents, in),
               one = run_classifier(extents, in, true, 1, false);
    EXPECT_TRUE(testing::same_bits(one.dx, both.dx));
    EXPECT_EQ(one.sums.loss.value(), both.sums.loss.value());
    EXPECT_TRUE(testing::same_bits(one.dtable, poisoned<TypeParam>(128 * 24))) << "untouched";
  }
}

TYPED_TEST(Classifier, LimitsLogits) {
  for (const float cap : {0.5f, 30.0f}) {
    for (const int64_t chunk : {8, 100}) {
      const ClassifierExtents extents{
          .rows = 33, .width = 24, .vocabulary = 70, .padded_vocabulary = 128, .chunk_rows = chunk};
      check<TypeParam>(extents, 2, false, {.cap = cap});
      check<TypeParam>(extents, 1, true, {.cap = cap});
      check<TypeParam>(extents, 1, false,
                       {.logit_scale = 0.25f, .label_smoothing = 0.1f, .cap = cap});
    }
  }
}

TYPED_TEST(Classifier, SkipsChunksWithoutTargetsOnAHost) {
  if (drives_devices()) GTEST_SKIP() << "the host does not see a device's targets";
  using T = TypeParam;
  const ClassifierExtents extents{
      .rows = 33, .width = 24, .vocabulary = 70, .padded_vocabulary = 128, .chunk_rows = 8};
  for (const int64_t first : {0, 16}) {
    Inputs<T> in(extents);
    std::fill_n(in.targets.begin() + first, 8, -1);
    const Result<T> zeros = run_classifier(extents, in);
    std::fill_n(in.x.begin() + first * 24, 8 * 24, T(std::numeric_limits<float>::quiet_NaN()));
    in.options.skips = true;
    const Result<T> got = run_classifier(extents, in);
    EXPECT_EQ(doubles(got.dx), doubles(zeros.dx)) << "equal but for signs of zeros";
    EXPECT_EQ(doubles(got.dtable), doubles(zeros.dtable));
    EXPECT_EQ(got.sums.loss.value(), zeros.sums.loss.value());
    const auto expected = testing::classifier_reference(
        extents, {testing::doubles(in.x), testing::doubles(in.table), in.targets}, 1);
    EXPECT_LT(relative_error(got.dx, expected.dx), 2 * testing::rounding<T>() + 1e-6);
    EXPECT_LT(relative_error(got.dtable, expected.dtable), 2 * testing::rounding<T>() + 1e-6);
    for (int64_t i = first * 24; i < (first + 8) * 24; ++i) ASSERT_EQ(float(got.dx[size_t(i)]), 0);
  }
}

/// On a device such rows stay in the registers of a block.
TYPED_TEST(Classifier, AgreesWithDoubleLoopsForTheVocabularyOfGpt2) {
  check<TypeParam>(
      {.rows = 5, .width = 3, .vocabulary = 50257, .padded_vocabulary = 50304, .chunk_rows = 3});
}

TYPED_TEST(Classifier, WithAScaleABiasAndLabelSmoothingAgreesWithDoubleLoops) {
  for (const auto& [biased, options] :
       {std::pair{true, ClassifierOptions{}},
        std::pair{false, ClassifierOptions{.logit_scale = 0.125f}},
        std::pair{false, ClassifierOptions{.label_smoothing = 0.1f}},
        std::pair{true, ClassifierOptions{.logit_scale = 0.3f, .label_smoothing = 0.5f}}}) {
    for (int64_t vocabulary : {1, 33, 2049})
      check<TypeParam>({.rows = 7,
                        .width = 10,
                        .vocabulary = vocabulary,
                        .padded_vocabulary = vocabulary + 3,
                        .chunk_rows = 4},
                       2, biased, options);
  }
}

TYPED_TEST(Classifier, WithATrainedBiasAgreesWithDoubleLoopsInOneChunkAndInSeveral) {
  for (int64_t rows : {1, 32, 33, 200}) {
    for (int64_t chunk : {1, 8, 33, 71, 200}) {
      for (int64_t vocabulary : {2, 31, 520})
        check<TypeParam>({.rows = rows,
                          .width = 6,
                          .vocabulary = vocabulary,
                          .padded_vocabulary = vocabulary + vocabulary % 3,
                          .chunk_rows = chunk},
                         2, true, {.label_smoothing = vocabulary == 31 ? 0.2f : 0.0f});
    }
  }
}

TYPED_TEST(Classifier, ATrainedBiasChangesNoOtherBit) {
  for (int64_t chunk : {8, 33}) {
    const ClassifierExtents extents{
        .rows = 33, .width = 24, .vocabulary = 70, .padded_vocabulary = 128, .chunk_rows = chunk};
    Inputs<TypeParam> in(extents);
    in.bias = sixteenths<TypeParam>(128, 3);
    const auto kept = run_classifier(extents, in);
    EXPECT_TRUE(same_bits(kept.dlogit_bias, poisoned<TypeParam>(128))) << "untouched";
    in.trains_bias = true;
    const auto both = run_classifier(extents, in),
               alone = run_classifier(extents, in, true, 1, false);
    for (const auto& trained : {both, alone}) {
      EXPECT_TRUE(same_bits(trained.dx, kept.dx));
      EXPECT_EQ(trained.sums.loss.value(), kept.sums.loss.value());
      EXPECT_TRUE(same_bits(trained.dlogit_bias, both.dlogit_bias));
    }
    EXPECT_TRUE(same_bits(both.dtable, kept.dtable));
    EXPECT_TRUE(same_bits(alone.dtable, poisoned<TypeParam>(128 * 24)));
  }
}

TYPED_TEST(Classifier, OfADieAddsItsRowsToTheBias) {
  const ClassifierExtents extents{
      .rows = 4, .width = 1, .vocabulary = 4, .padded_vocabulary = 6, .chunk_rows = 2};
  Inputs<TypeParam> in(extents);
  in.x.assign(4, TypeParam(1.0f));
  in.table.assign(6, TypeParam(0.0f));
  in.bias.assign(6, TypeParam(3.0f));
  in.trains_bias = true;
  in.targets = {1, -1, 1, 0};
  // Three rows count. Each gives every class a quarter, and takes one from its target.
  EXPECT_EQ(testing::doubles(run_classifier(extents, in).dlogit_bias),
            (std::vector<double>{-0.25, -1.25, 0.75, 0.75, 0, 0}));
}

TYPED_TEST(Classifier, WithoutOptionsHasTheBitsOfOptionsThatChangeNothing) {
  const ClassifierExtents extents{
      .rows = 9, .width = 8, .vocabulary = 61, .padded_vocabulary = 64, .chunk_rows = 4};
  Inputs<TypeParam> in(extents);
  const Result<TypeParam> plain = run_classifier(extents, in);
  in.bias.assign(64, TypeParam(0.0f));
  const Result<TypeParam> zero = run_classifier(extents, in);
  EXPECT_EQ(plain.sums.loss.value(), zero.sums.loss.value());
  EXPECT_TRUE(same_bits(plain.dx, zero.dx));
  EXPECT_TRUE(same_bits(plain.dtable, zero.dtable));
}

TYPED_TEST(Classifier, SmoothingOfOneHalfOverTwoClassesAsksForThreeQuarters) {
  const ClassifierExtents extents{
      .rows = 1, .width = 1, .vocabulary = 2, .padded_vocabulary = 2, .chunk_rows = 1};
  Inputs<TypeParam> in(extents);
  in.x = {TypeParam(1.0f)};
  in.table = {TypeParam(0.0f), TypeParam(0.0f)};
  in.bias = {TypeParam(2.0f), TypeParam(2.0f)};
  in.targets = {0};
  in.options.label_smoothing = 0.5f;
  const Result<TypeParam> got = run_classifier(extents, in);
  EXPECT_NEAR(got.sums.loss.value(), std::log(2.0), 1e-7);
  EXPECT_EQ(testing::doubles(got.dtable), (std::vector<double>{-0.25, 0.25}));
}

TYPED_TEST(Classifier, OfEqualLogitsHasTheLossOfADieAndItsGradientInSixths) {
  const ClassifierExtents extents{
      .rows = 1, .width = 1, .vocabulary = 4, .padded_vocabulary = 6, .chunk_rows = 1};
  Inputs<TypeParam> in(extents);
  in.x = {TypeParam(1.0f)};
  in.table.assign(6, TypeParam(2.0f));
  in.targets = {1};
  const Result<TypeParam> got = run_classifier(extents, in);
  EXPECT_NEAR(got.sums.loss.value(), std::log(4.0), 1e-7);
  EXPECT_EQ(testing::doubles(got.dtable), (std::vector<double>{0.25, -0.75, 0.25, 0.25, 0, 0}));
  EXPECT_EQ(float(got.dx[0]), 0.0f);
}

TYPED_TEST(Classifier, AddsToTheSumsAndWithoutGradientWritesNothingElse) {
  const ClassifierExtents extents{
      .rows = 9, .width = 8, .vocabulary = 20, .padded_vocabulary = 64, .chunk_rows = 4};
  const Inputs<TypeParam> in(extents);
  const Result<TypeParam> with = run_classifier(extents, in),
                          without = run_classifier(extents, in, false);
  EXPECT_EQ(with.sums.loss.value(), without.sums.loss.value());
  EXPECT_GT(without.sums.loss.value(), 0.0);
  EXPECT_TRUE(same_bits(without.dx, poisoned<TypeParam>(9 * 8)));
  EXPECT_TRUE(same_bits(without.dtable, poisoned<TypeParam>(64 * 8)));
}

TYPED_TEST(Classifier, CountsRowsWhoseLossIsNotFiniteAndLeavesUncountedRowsOut) {
  const ClassifierExtents extents{
      .rows = 3, .width = 2, .vocabulary = 5, .padded_vocabulary = 5, .chunk_rows = 2};
  Inputs<TypeParam> in(extents);
  in.targets = {0, -1, 2};
  for (size_t i : {0u, 2u}) in.x[i] = TypeParam(std::numeric_limits<float>::quiet_NaN());
  const Result<TypeParam> got = run_classifier(extents, in);
  EXPECT_EQ(got.sums.nonfinite_loss, 1);
  EXPECT_TRUE(std::isnan(float(got.dx[0])));
  EXPECT_FALSE(std::isnan(float(got.dx[4])));
  in.targets = {4, -1, 5};  // 5 is no class
  EXPECT_EQ(run_classifier(extents, in, false).sums.nonfinite_loss, 2);
}

TYPED_TEST(Classifier, GivesTheSameBitsInEveryCallFromFourRanksAtOnce) {
  const ClassifierExtents extents{
      .rows = 50, .width = 32, .vocabulary = 900, .padded_vocabulary = 960, .chunk_rows = 16};
  const Inputs<TypeParam> in(extents);
  const Result<TypeParam> first = run_classifier(extents, in, true, 2);
  std::vector<Result<TypeParam>> others(4);
  std::vector<std::thread> ranks;
  for (auto& other : others)
    ranks.emplace_back([&] { other = run_classifier(extents, in, true, 2); });
  for (std::thread& rank : ranks) rank.join();
  for (const auto& other : others) {
    EXPECT_TRUE(same_bits(first.dx, other.dx));
    EXPECT_TRUE(same_bits(first.dtable, other.dtable));
    EXPECT_EQ(first.sums.loss.value(), other.sums.loss.value());
  }
}

TYPED_TEST(Classifier, ChunksChangeTheGradientOfTheTableByNoMoreThanFp32Sums) {
  ClassifierExtents extents{
      .rows = 64, .width = 16, .vocabulary = 50, .padded_vocabulary = 64, .chunk_rows = 64};
  const Inputs<TypeParam> in(extents);
  const Result<TypeParam> whole = run_classifier(extents, in);
  extents.chunk_rows = 4;
  const Result<TypeParam> chunks = run_classifier(extents, in);
  EXPECT_TRUE(same_bits(whole.dx, chunks.dx) ||
              relative_error(whole.dx, testing::doubles(chunks.dx)) < 1e-6);
  EXPECT_LT(relative_error(whole.dtable, testing::doubles(chunks.dtable)),
            testing::rounding<TypeParam>() + 1e-6);
}

TEST(ClassifierRefusal, NamesWhatIsOutOfRange) {
  ClassifierExtents extents{
      .rows = 2, .width = 2, .vocabulary = 5, .padded_vocabulary = 5, .chunk_rows = 2};
  const Inputs<float> in(extents);
  EXPECT_NO_THROW(run_classifier(extents, in));
  extents.chunk_rows = 0;
  EXPECT_THROW(classifier_scratch_bytes(extents, Dtype::f32, true), Error);
  extents.chunk_rows = 2;
  extents.vocabulary = 6;
  EXPECT_THROW(classifier_scratch_bytes(extents, Dtype::f32, true), Error);
  extents.vocabulary = 5;
  Inputs<float> smooth(extents);
  for (float share : {-0.1f, 1.0f, NAN}) {
    smooth.options = {.label_smoothing = share};
    EXPECT_THROW(run_classifier(extents, smooth), Error);
  }
  smooth.options = {.logit_scale = INFINITY};
  EXPECT_THROW(run_classifier(extents, smooth), Error);
  smooth.options = {.logit_scale = 0.5f};
  smooth.bias.assign(5, 0.0f);
  EXPECT_NO_THROW(run_classifier(extents, smooth));
  smooth.trains_bias = true;
  EXPECT_THROW(run_classifier(extents, smooth), Error) << "beside a scale";
}

TEST(ClassifierScratch, HoldsOneChunkOfLogitsAndTableSumsOnlyWhereTheyAreNeeded) {
  ClassifierExtents extents{
      .rows = 64, .width = 16, .vocabulary = 64, .padded_vocabulary = 64, .chunk_rows = 16};
  EXPECT_EQ(classifier_scratch_bytes(extents, Dtype::f32, true), 16 * 64 * 4 + 16 * 8);
  EXPECT_EQ(classifier_scratch_bytes(extents, Dtype::bf16, false), 16 * 64 * 4 + 16 * 8);
  EXPECT_EQ(classifier_scratch_bytes(extents, Dtype::bf16, true),
            16 * 64 * 4 + 16 * 8 + 64 * 16 * 4);
  EXPECT_EQ(classifier_scratch_bytes(extents, Dtype::bf16, false, true),
            16 * 64 * 4 + 16 * 8 + 2 * 64 * 4)
      << "the sums of earlier chunks and of this one's rows";
  extents.chunk_rows = 100;
  EXPECT_EQ(classifier_scratch_bytes(extents, Dtype::bf16, true), 64 * 64 * 4 + 64 * 8);
}

}  // namespace
}  // namespace zero::kernels
