// Ranks: 1

#include <gtest/gtest.h>

#include "kernels/vendor/cuda/attention.hpp"
#include "tests/support/attention_run.hpp"
#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::AttentionCase;
using testing::AttentionResult;
using testing::poisoned;
using testing::run;
using testing::sixteenths;

template <class T>
class CudnnAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cudnn_name().empty()) GTEST_SKIP() << "no cuDNN that this build can use";
  }
};
using Halves = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(CudnnAttention, Halves);

AttentionCase shape_of(const AttentionExtents& extents, float dropout = 0.0f) {
  AttentionCase shape{.extents = extents};
  shape.site.probability = dropout;
  return shape;
}

template <class T>
bool takes(const AttentionCase& shape) {
  const Stream stream(1);
  adopt_threads(stream);
  const bool is_self = shape.extents.keys == 0;
  return cudnn_takes({shape.extents, dtype_of<T>(), shape.site.probability,
                      is_self ? packed_rows(shape.extents) : paired_rows(shape.extents)});
}

TYPED_TEST(CudnnAttention, TakesTheShapesOfTheLargestGpt2s) {
  const AttentionExtents packed{.samples = 4, .length = 1024, .heads = 25, .head_width = 64};
  const AttentionExtents padded{
      .samples = 4, .length = 1024, .heads = 16, .head_width = 104, .real_width = 100};
  const AttentionExtents odd{.samples = 4, .length = 1024, .heads = 16, .head_width = 100};
  const AttentionExtents one{.samples = 4, .length = 1, .heads = 12, .head_width = 64};
  EXPECT_TRUE(takes<TypeParam>(shape_of(packed, 0.1f)));
  EXPECT_TRUE(takes<TypeParam>(shape_of(padded, 0.1f)));
  EXPECT_FALSE(takes<TypeParam>(shape_of(odd, 0.1f)));
  EXPECT_FALSE(takes<TypeParam>(shape_of(one, 0.1f)));
}

TYPED_TEST(CudnnAttention, TakesTheShapesOfEncodersAndDecoders) {
  AttentionExtents of{.samples = 4, .length = 512, .heads = 16, .head_width = 64};
  of.biased = true;
  EXPECT_TRUE(takes<TypeParam>(shape_of(of, 0.1f))) << "a decoder under a bias";
  of.causal = false;
  of.counted = true;
  EXPECT_TRUE(takes<TypeParam>(shape_of(of, 0.1f))) << "an encoder under a bias";
  of.biased = false;
  of.head_width = 40;
  of.length = 114;
  of.keys = 512;
  EXPECT_TRUE(takes<TypeParam>(shape_of(of, 0.1f))) << "another text";
}

TYPED_TEST(CudnnAttention, LeavesTheStatisticsThatOurOwnKernelsLeave) {
  using T = TypeParam;
  const AttentionCase shape = shape_of(
      {.samples = 2, .length = 130, .heads = 3, .head_width = 104, .real_width = 100}, 0.25f);
  const auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 1);
  const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
  ASSERT_TRUE(takes<T>(shape));
  const AttentionResult<T> library = run(shape, qkv, dy);
  auto y = poisoned<T>(shape.rows() * shape.width());
  auto logsumexp = poisoned<float>(shape.rows() * shape.extents.heads);
  Stream stream(1);
  adopt_threads(stream);
  own_attention<T>(
      stream, {shape.extents, shape.site, &shape.inputs},
      {packed_attention<T>(shape.extents, qkv.data()), y.data(), logsumexp.data(), nullptr});
  stream.wait();
  EXPECT_LT(relative_error(library.logsumexp, doubles(logsumexp)), 1e-5);
}

/// Tokens and widths of a probe: values are rows of the unit matrix, and so y shows the
/// probabilities that were kept, and the gradient of v their transpose.
constexpr int64_t kProbe = 64;

template <class T>
std::vector<T> probe_qkv(const AttentionCase& shape) {
  auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 4);
  const int64_t width = shape.width();
  for (int64_t row = 0; row < shape.rows(); ++row)
    for (int64_t j = 0; j < width; ++j)
      qkv[size_t((3 * row + 2) * width + j)] = T(j % kProbe == row % kProbe ? 1.0f : 0.0f);
  return qkv;
}

template <class T>
std::vector<T> probe_dy(const AttentionCase& shape) {
  std::vector<T> dy(size_t(shape.rows() * shape.width()));
  for (size_t i = 0; i < dy.size(); ++i)
    dy[i] = T(int64_t(i) % kProbe == int64_t(i) / shape.width() % kProbe ? 1.0f : 0.0f);
  return dy;
}

AttentionCase probe(float dropout) {
  return shape_of({.samples = 4, .length = kProbe, .heads = 4, .head_width = kProbe}, dropout);
}

/// To all keys that are no padding, under a bias.
AttentionCase probe_of_encoder(float dropout) {
  AttentionCase shape = probe(dropout);
  shape.extents.causal = false;
  shape.extents.biased = true;
  shape.extents.counted = true;
  shape.bias = sixteenths<float>(shape.extents.heads * shape.extents.diagonals(), 6);
  shape.counts = {kProbe, 33, 0, 1};
  return shape;
}

struct Kept {
  std::vector<double> forward, backward;  ///< [samples, heads, queries, keys]
};

template <class T>
Kept kept_by(const AttentionCase& shape) {
  const AttentionResult<T> got = run(shape, probe_qkv<T>(shape), probe_dy<T>(shape));
  Kept kept;
  const int64_t width = shape.width();
  for (int64_t sample = 0; sample < shape.extents.samples; ++sample)
    for (int64_t head = 0; head < shape.extents.heads; ++head)
      for (int64_t query = 0; query < kProbe; ++query)
        for (int64_t key = 0; key < kProbe; ++key) {
          const int64_t row = sample * kProbe + query, other = sample * kProbe + key;
          kept.forward.push_back(float(got.y[size_t(row * width + head * kProbe + key)]));
          kept.backward.push_back(
              float(got.dqkv[size_t((3 * other + 2) * width + head * kProbe + query)]));
        }
  return kept;
}

/// The masks that a run shows, as AttentionCase has them.
template <class T>
std::vector<double> masks_of(const AttentionCase& shape) {
  std::vector<double> masks = kept_by<T>(shape).forward;
  for (double& mask : masks) mask = mask > 0 ? 1.0 / (1.0 - double(shape.site.probability)) : 0.0;
  return masks;
}

TYPED_TEST(CudnnAttention, DropsForwardsAndBackwardsAlike) {
  for (const AttentionCase& shape : {probe(0.25f), probe_of_encoder(0.25f)}) {
    const Kept kept = kept_by<TypeParam>(shape);
    for (size_t i = 0; i < kept.forward.size(); ++i)
      EXPECT_EQ(kept.forward[i] > 0, kept.backward[i] > 0) << i;
    EXPECT_LT(relative_error(kept.backward, kept.forward), 1e-2);
  }
}

TYPED_TEST(CudnnAttention, DropsAsManyAsItIsAskedTo) {
  for (float probability : {0.1f, 0.5f}) {
    const Kept kept = kept_by<TypeParam>(probe(probability));
    double visible = 0, zeros = 0;
    for (int64_t i = 0; i < int64_t(kept.forward.size()); ++i) {
      const int64_t query = i / kProbe % kProbe, key = i % kProbe;
      if (key > query) {
        EXPECT_EQ(kept.forward[size_t(i)], 0) << "a query sees a later key";
        continue;
      }
      visible += 1;
      zeros += kept.forward[size_t(i)] == 0;
    }
    // 33280 draws: five standard deviations.
    const double deviation = std::sqrt(visible * double(probability) * (1 - double(probability)));
    EXPECT_NEAR(zeros, visible * double(probability), 5 * deviation);
  }
}

TYPED_TEST(CudnnAttention, WithDropoutAgreesWithDoubleLoopsOverItsMasks) {
  using T = TypeParam;
  for (AttentionCase shape : {probe(0.25f), probe_of_encoder(0.25f)}) {
    shape.masks = masks_of<T>(shape);
    const auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 1);
    const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
    const auto expected = testing::attention_reference(shape, doubles(qkv), doubles(dy));
    const AttentionResult<T> got = run(shape, qkv, dy);
    const testing::AttentionBounds bounds = testing::attention_bounds<T>();
    EXPECT_LT(relative_error(got.y, expected.y), bounds.y);
    EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), bounds.logsumexp);
    EXPECT_LT(relative_error(got.dqkv, expected.dqkv), bounds.dqkv);
    EXPECT_LT(relative_error(got.dbias, expected.dbias), bounds.dqkv);
  }
}

TYPED_TEST(CudnnAttention, DrawsTheSameMasksOnOneTwoAndFourRanks) {
  AttentionCase shape = probe(0.25f);
  const int64_t sample = shape.inputs.first_sample + shape.site.sample_offset;
  const std::vector<double> masks = masks_of<TypeParam>(shape);
  for (int64_t ranks : {2, 4}) {
    // The same micro-batch, later or earlier among those of its rank's step.
    shape.site.sample_offset = ranks * shape.extents.samples;
    shape.inputs.first_sample = sample - shape.site.sample_offset;
    EXPECT_EQ(masks, masks_of<TypeParam>(shape));
  }
}

TYPED_TEST(CudnnAttention, DrawsOtherMasksForOtherSeedsLayersAndMicroBatches) {
  const AttentionCase shape = probe(0.25f);
  const std::vector<double> masks = masks_of<TypeParam>(shape);
  AttentionCase seed = shape, site = shape, batch = shape;
  seed.inputs.seed += 1;
  site.site.site += 1;
  batch.site.sample_offset += shape.extents.samples;
  for (const AttentionCase& other : {seed, site, batch}) {
    const std::vector<double> others = masks_of<TypeParam>(other);
    int64_t equal = 0;
    for (size_t i = 0; i < masks.size(); ++i) equal += masks[i] == others[i];
    // Half of all are hidden and equal; of the others 1 - 2 p (1 - p) = 0.625 are by chance.
    EXPECT_NEAR(double(equal) / double(masks.size()), 0.492 + 0.508 * 0.625, 0.02);
  }
}

/// Five times, so that an order of sums that changes is seen.
template <class T>
void expect_same_bits_again(const AttentionCase& shape) {
  const auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 1);
  const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
  const auto first = run(shape, qkv, dy);
  for (int i = 0; i < 5; ++i) {
    const auto other = run(shape, qkv, dy);
    EXPECT_TRUE(same_bits(first.y, other.y));
    EXPECT_TRUE(same_bits(first.logsumexp, other.logsumexp));
    EXPECT_TRUE(same_bits(first.dqkv, other.dqkv));
    EXPECT_TRUE(same_bits(first.dbias, other.dbias));
  }
}

TYPED_TEST(CudnnAttention, GivesTheSameBitsAgain) {
  for (int64_t head_width : {64, 104})
    expect_same_bits_again<TypeParam>(
        shape_of({.samples = 8, .length = 1000, .heads = 2, .head_width = head_width}, 0.1f));
}

TYPED_TEST(CudnnAttention, UnderABiasGivesTheSameBitsAgain) {
  for (const bool causal : {true, false}) {
    AttentionCase shape =
        shape_of({.samples = 8, .length = 1000, .heads = 2, .head_width = 64}, 0.1f);
    shape.extents.causal = causal;
    shape.extents.biased = true;
    shape.extents.counted = !causal;
    shape.bias = sixteenths<float>(shape.extents.heads * shape.extents.diagonals(), 6);
    if (!causal) shape.counts = {1000, 900, 0, 1, 64, 65, 500, 999};
    expect_same_bits_again<TypeParam>(shape);
  }
}

/// A backward pass that gives the rest of the last tile a score of 0 overflows here.
TYPED_TEST(CudnnAttention, OfScoresFarBelowZeroLeavesNumbers) {
  using T = TypeParam;
  for (const int64_t keys : {64, 100, 192}) {
    AttentionCase shape = shape_of({.samples = 2, .length = 64, .heads = 2, .head_width = 64});
    shape.extents.keys = keys;
    shape.extents.causal = false;
    shape.extents.biased = true;
    shape.bias.assign(size_t(shape.extents.heads * shape.extents.diagonals()), -120.0f);
    const auto q = sixteenths<T>(shape.rows() * shape.width(), 1);
    const auto kv = sixteenths<T>(shape.key_rows() * 2 * shape.width(), 3);
    const auto got = testing::run_pair(shape, q, kv, sixteenths<T>(int64_t(q.size()), 2));
    for (const auto& array : {got.y, got.dq, got.dkv})
      for (const T& value : array) ASSERT_TRUE(std::isfinite(float(value))) << keys << " keys";
    for (const float value : got.dbias) ASSERT_TRUE(std::isfinite(value)) << keys << " keys";
  }
}

}  // namespace
}  // namespace zero::kernels::vendor
