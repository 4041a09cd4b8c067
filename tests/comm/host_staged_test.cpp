// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/rank_groups.hpp"
#include "tests/support/refusal.hpp"
#include "zero/comm/backends.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"

namespace zero::comm {
namespace {

using Store = Communicator::Store;

constexpr Piece kPiece{.shard_numel = 300, .begin = 7, .numel = 250};

/// Calls body(staged communicator, plain communicator, stream) as each of three ranks. Both are
/// channels of their own, so that what they do can be compared; the staging takes 21 elements.
template <class Body>
void on_three_ranks(const Body& body) {
  testing::as_threads(3, 2, [&](testing::Members& members) {
    Stream stream(1);
    const auto staged = make_host_staged(std::move(members[0]), {.staging_bytes = 21 * 4 * 4});
    body(*staged, *members[1], stream);
  });
}

template <class T>
std::vector<T> numbers(int rank, size_t count) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(T(float((size_t(rank) * 37 + i * 11) % 64) / 8.0f - 3.0f));
  return values;
}

template <class T>
std::vector<float> floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}
std::vector<float> floats(const std::vector<bf16>& values) {
  std::vector<float> out;
  for (const bf16 value : values) out.push_back(float(value));
  return out;
}

TEST(HostStaged, GathersWhatItsHostCommunicatorGathers) {
  on_three_ranks([](Communicator& staged, Communicator& plain, Stream& stream) {
    const auto shard = numbers<bf16>(plain.rank(), 300);
    std::vector<bf16> expected(900, bf16(-9.0f)), got = expected;
    plain.all_gather(stream, Dtype::bf16, kPiece, shard.data(), expected.data());
    staged.all_gather(stream, Dtype::bf16, kPiece, shard.data(), got.data());
    EXPECT_EQ(floats(got), floats(expected));
  });
}

TEST(HostStaged, GathersAShardThatLiesInItsPlace) {
  on_three_ranks([](Communicator& staged, Communicator& plain, Stream& stream) {
    std::vector<float> full(900, -9.0f), expected(900, -9.0f);
    const auto shard = numbers<float>(plain.rank(), 300);
    float* const place = full.data() + 300 * plain.rank();
    std::copy_n(shard.data() + kPiece.begin, kPiece.numel, place + kPiece.begin);
    plain.all_gather(stream, Dtype::f32, kPiece, shard.data(), expected.data());
    staged.all_gather(stream, Dtype::f32, kPiece, place, full.data());
    EXPECT_EQ(full, expected);
  });
}

template <class T, class Out>
void reduce_and_compare(Communicator& staged, Communicator& plain, Stream& stream, Store store) {
  const auto full = numbers<T>(plain.rank(), 900);
  auto expected = numbers<Out>(9, 300), got = expected;
  const Communicator::Reduction reduction{dtype_of<T>(), dtype_of<Out>(), store};
  plain.reduce_scatter(stream, reduction, kPiece, full.data(), expected.data());
  staged.reduce_scatter(stream, reduction, kPiece, full.data(), got.data());
  EXPECT_EQ(floats(got), floats(expected));
  EXPECT_NE(floats(got), floats(numbers<Out>(9, 300)));
}

TEST(HostStaged, SumsToTheBitsOfItsHostCommunicator) {
  on_three_ranks([](Communicator& staged, Communicator& plain, Stream& stream) {
    reduce_and_compare<float, float>(staged, plain, stream, Store::write);
    reduce_and_compare<float, float>(staged, plain, stream, Store::add);
    reduce_and_compare<bf16, float>(staged, plain, stream, Store::add);
    reduce_and_compare<bf16, bf16>(staged, plain, stream, Store::write);
  });
}

TEST(HostStaged, AddsWordsAndBroadcastsBytesOfAnyNumber) {
  on_three_ranks([](Communicator& staged, Communicator& plain, Stream& stream) {
    std::vector<int64_t> words(100);
    std::iota(words.begin(), words.end(), 1000 * plain.rank());
    staged.all_reduce(stream, words);
    for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(words[size_t(i)], 3000 + 3 * i);
    std::vector<std::byte> bytes(1001, std::byte(plain.rank()));
    staged.broadcast(stream, bytes, 2);
    EXPECT_EQ(bytes, std::vector<std::byte>(1001, std::byte(2)));
    staged.barrier();
  });
}

TEST(HostStaged, CountsAVerbOnceAndTheSameElements) {
  on_three_ranks([](Communicator& staged, Communicator& plain, Stream& stream) {
    const auto full = numbers<float>(0, 900);
    std::vector<float> shard(300);
    for (Communicator* comm : {&staged, &plain})
      comm->reduce_scatter(stream, {Dtype::f32, Dtype::f32}, kPiece, full.data(), shard.data());
    EXPECT_EQ(staged.traffic().reduce_scatter.calls, 1);
    EXPECT_EQ(staged.traffic().reduce_scatter.elements_sent,
              plain.traffic().reduce_scatter.elements_sent);
    EXPECT_EQ(staged.traffic().reduce_scatter.bytes_sent,
              plain.traffic().reduce_scatter.bytes_sent);
    EXPECT_EQ(staged.backend(), "host-staged thread");
  });
}

TEST(HostStaged, RefusesPiecesOutsideTheShardAndTooLittleStaging) {
  const auto staged = make_host_staged(make_self(), {});
  Stream stream(1);
  std::vector<float> full(4);
  const Piece outside{.shard_numel = 4, .begin = 2, .numel = 3};
  EXPECT_THAT(testing_support::refusal_of(
                  Exit::kInternal,
                  [&] { staged->all_gather(stream, Dtype::f32, outside, &full[0], &full[0]); }),
              ::testing::HasSubstr("inside the shard"));
  EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, [] { make_host_staged(make_self(), {7}); }),
              ::testing::HasSubstr("need at least 8"));
}

}  // namespace
}  // namespace zero::comm
