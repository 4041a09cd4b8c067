// Ranks: 1

#include "kernels/vendor/disentangled_rows.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/block_row.hpp"
#include "tests/support/disentangled_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::DisentangledCase;
using testing::DisentangledNoise;
using testing::poisoned;
using testing::relative_error;

constexpr DistanceTable kPublished{.buckets = 256, .most_distance = 512};

/// Both directions, thread by thread.
template <class T>
void check(const DisentangledCase& shape) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", shape.extents.length, " tokens, ",
                    shape.extents.table.buckets, " buckets"));
  const DisentangledExtents& extents = shape.extents;
  const DisentangledNoise<T> in(shape);
  const int64_t tokens = shape.rows() * shape.width(), positions = extents.rows() * shape.width();
  testing::DisentangledResult<T> got{poisoned<T>(tokens),
                                     poisoned<T>(tokens),
                                     poisoned<T>(tokens),
                                     poisoned<T>(tokens),
                                     poisoned<T>(positions),
                                     poisoned<T>(positions),
                                     poisoned<float>(shape.rows() * extents.heads)};
  auto scratch = poisoned<float>(DisentangledPlaces(extents).numel + 1);
  const testing::AttentionCase plain = shape.plain();
  const AttentionInputs<T> tokens_in{.q = in.q.data(),
                                     .k = in.k.data(),
                                     .v = in.v.data(),
                                     .q_stride = shape.width(),
                                     .kv_stride = shape.width(),
                                     .key_counts = extents.counted ? shape.counts.data() : nullptr};
  const PositionRows<const T> rows{in.position_keys.data(), in.position_queries.data()};
  const TextSample<T> text(extents, plain.site, &plain.inputs, tokens_in, rows, scratch.data());
  const auto launch = [](int64_t count, const auto& functor) {
    static_assert(sizeof(functor) < 500, "a launch takes few bytes");
    testing::run_rows(count, functor);
  };
  attend_texts<T>(extents, text, {tokens_in, rows, got.y.data(), got.logsumexp.data(), nullptr},
                  launch);
  attend_texts_backward<T>(extents, text,
                           {.in = tokens_in,
                            .positions = rows,
                            .dy = in.dy.data(),
                            .y = got.y.data(),
                            .logsumexp = got.logsumexp.data(),
                            .dq = got.dq.data(),
                            .dk = got.dk.data(),
                            .dv = got.dv.data(),
                            .dpositions = {got.dposition_keys.data(), got.dposition_queries.data()},
                            .scratch = nullptr},
                           launch);
  EXPECT_TRUE(testing::same_bits({scratch.back()}, poisoned<float>(1)));
  const testing::DisentangledReference expected = in.reference(shape);
  const double bound = 3 * testing::rounding<T>() + 2e-6;
  EXPECT_LT(relative_error(got.y, expected.y), bound);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), 1e-6);
  EXPECT_LT(relative_error(got.dq, expected.gradient.q), bound);
  EXPECT_LT(relative_error(got.dk, expected.gradient.k), bound);
  EXPECT_LT(relative_error(got.dv, expected.gradient.v), bound);
  EXPECT_LT(relative_error(got.dposition_keys, expected.gradient.position_keys), bound);
  EXPECT_LT(relative_error(got.dposition_queries, expected.gradient.position_queries), bound);
}

template <class T>
class DisentangledRows : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16>;
TYPED_TEST_SUITE(DisentangledRows, Elements);

TYPED_TEST(DisentangledRows, AgreeWithDoubleLoopsForAnyTableOfDistances) {
  for (const DistanceTable& table :
       {kPublished, DistanceTable{8, 30}, DistanceTable{8, 6}, DistanceTable{0, 300}})
    check<TypeParam>({.extents = {.samples = 2,
                                  .length = 19,
                                  .heads = 2,
                                  .head_width = 5,
                                  .table = table,
                                  .counted = true},
                      .dropout = 0.25f,
                      .counts = {19, 7}});
}

TYPED_TEST(DisentangledRows, AgreeWithDoubleLoopsForOneTokenAndForNone) {
  check<TypeParam>({.extents = {.samples = 3,
                                .length = 1,
                                .heads = 1,
                                .head_width = 3,
                                .table = kPublished,
                                .counted = true},
                    .counts = {1, 0, 1}});
}

/// What a call of any length finds by distance.
std::vector<int32_t> diagonals_of(const DistanceTable& table, int64_t length) {
  const DisentangledExtents extents{
      .samples = 1, .length = length, .heads = 1, .head_width = 1, .table = table};
  std::vector<int32_t> found(size_t(2 * length - 1), -1);
  TextSample<float> text(extents, {}, nullptr, {}, {}, found.data());
  fill_diagonals(extents, text,
                 [](int64_t count, const auto& functor) { testing::run_rows(count, functor); });
  return found;
}

TEST(FillDiagonals, FindsTheRowOfEveryDistance) {
  for (const DistanceTable& table :
       {kPublished, DistanceTable{2, 1000}, DistanceTable{600, 900}, DistanceTable{0, 40}})
    for (int64_t length : {1, 128, 700}) {
      const std::vector<int32_t> found = diagonals_of(table, length);
      for (int64_t i = 0; i < 2 * length - 1; ++i)
        ASSERT_EQ(found[size_t(i)],
                  distance_row(table, i - length + 1) - distance_rows(table, length).first)
            << i << " of " << length;
    }
}

}  // namespace
}  // namespace zero::kernels::vendor
