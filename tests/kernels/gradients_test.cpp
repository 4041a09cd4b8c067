// Ranks: 1

#include "zero/kernels/gradients.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

StepSums no_sums() { return StepSums{}; }

template <class T, class G>
StepSums squares_of(const std::vector<G>& grad, bool round = true, int threads = 1) {
  Stream stream(threads);
  StepSums sums = no_sums();
  sum_of_squares<T>(stream, int64_t(grad.size()), grad.data(), round, &sums);
  stream.wait();
  return sums;
}

template <class T>
class Gradients : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Gradients, Elements);

TYPED_TEST(Gradients, AccumulateStartsWithACopyAndThenAdds) {
  const auto first = noise<TypeParam>(5000, 1), second = noise<TypeParam>(5000, 2);
  std::vector<float> sum(5000, 77.0f);
  Stream stream(2);
  accumulate(stream, 5000, first.data(), sum.data(), true);
  accumulate(stream, 5000, second.data(), sum.data(), false);
  stream.wait();
  for (size_t i = 0; i < 5000; ++i) EXPECT_EQ(sum[i], float(first[i]) + float(second[i]));
}

TYPED_TEST(Gradients, RoundSumRoundsOnce) {
  const auto sum = noise<float>(5000, 1, 100.0);
  std::vector<TypeParam> out(5000);
  Stream stream(2);
  round_sum(stream, 5000, sum.data(), out.data());
  stream.wait();
  for (size_t i = 0; i < 5000; ++i) EXPECT_EQ(float(out[i]), float(TypeParam(sum[i])));
}

TYPED_TEST(Gradients, SquaresAddUpWhateverTheSlices) {
  const auto grad = noise<TypeParam>(5 * 2048 + 100, 1);
  double expected = 0;
  for (TypeParam g : grad) expected += double(float(g)) * double(float(g));
  const StepSums whole = squares_of<TypeParam>(grad);
  EXPECT_NEAR(whole.grad_squares.value(), expected, 1e-12 * expected);
  EXPECT_EQ(whole.nonfinite, 0);

  const auto cut = grad.begin() + 3 * 2048;
  StepSums halves = squares_of<TypeParam>(std::vector<TypeParam>(grad.begin(), cut));
  halves.grad_squares.add(
      squares_of<TypeParam>(std::vector<TypeParam>(cut, grad.end())).grad_squares);
  EXPECT_EQ(halves.grad_squares.value(), whole.grad_squares.value());
  EXPECT_EQ(squares_of<TypeParam>(grad, true, 2).grad_squares.value(), whole.grad_squares.value());
}

TYPED_TEST(Gradients, AnInfinityOrANaNIsCountedPerBlockAndAddsNothing) {
  std::vector<TypeParam> grad(4 * 2048, TypeParam(1.0f));
  grad[0] = TypeParam(kInfinity);
  grad[1] = TypeParam(-kInfinity);
  grad[3 * 2048] = TypeParam(std::numeric_limits<float>::quiet_NaN());
  const StepSums sums = squares_of<TypeParam>(grad);
  EXPECT_EQ(sums.nonfinite, 2);
  EXPECT_EQ(sums.grad_squares.value(), 2 * 2048.0);
}

TEST(SumOfSquares, RoundsAnFp32SumFirstWhereAsked) {
  // 1 + 2^-9 rounds to 1 in bf16.
  const std::vector<float> grad(4, 1.0f + 0x1p-9f);
  EXPECT_EQ((squares_of<bf16>(grad, true).grad_squares.value()), 4.0);
  EXPECT_GT((squares_of<bf16>(grad, false).grad_squares.value()), 4.0);
  // 65520 is finite in fp32 and infinite in fp16.
  EXPECT_EQ((squares_of<f16>(std::vector<float>{65520.0f}, true).nonfinite), 1);
  EXPECT_EQ((squares_of<f16>(std::vector<float>{65520.0f}, false).nonfinite), 0);
}

TEST(SumOfSquares, AddsToWhatIsThere) {
  Stream stream(1);
  StepSums sums = no_sums();
  const std::vector<float> grad{3.0f, 4.0f};
  sum_of_squares<float>(stream, 2, grad.data(), true, &sums);
  sum_of_squares<float>(stream, 2, grad.data(), true, &sums);
  stream.wait();
  EXPECT_EQ(sums.grad_squares.value(), 50.0);
}

TEST(SumOfSquares, TheLargestFloatsAreFinite) {
  const StepSums sums =
      squares_of<float>(std::vector<float>(4096, std::numeric_limits<float>::max()));
  EXPECT_EQ(sums.nonfinite, 0);
  EXPECT_GT(sums.grad_squares.value(), 4e80);
}

TEST(ClearBytes, ClearsExactlyThose) {
  for (const Place place : {Place::device, Place::host}) {
    std::vector<char> memory(5001, 1);
    Stream stream(2, place);
    clear_bytes(stream, 5000, memory.data());
    stream.wait();
    EXPECT_EQ(std::count(memory.begin(), memory.end(), 0), 5000);
    EXPECT_EQ(memory.back(), 1);
  }
}

template <class Word>
int64_t digest_of(const std::vector<Word>& words, int64_t first = 0, int threads = 1) {
  Stream stream(threads);
  StepInputs inputs{};
  inputs.audited = 1;
  int64_t sum = 0;
  digest(stream, &inputs, int64_t(words.size()), words.data(), first, &sum);
  stream.wait();
  return sum;
}

TEST(DigestOfWords, IsTheSameOfAnyPartsAndThreads) {
  std::vector<uint32_t> words(10'000);
  for (size_t i = 0; i < words.size(); ++i) words[i] = uint32_t(i * i * 2654435761u);
  const std::vector<uint32_t> front(words.begin(), words.begin() + 3001);
  const std::vector<uint32_t> back(words.begin() + 3001, words.end());
  const int64_t whole = digest_of(words);
  EXPECT_EQ(digest_of(words, 0, 2), whole);
  EXPECT_EQ(int64_t(uint64_t(digest_of(front)) + uint64_t(digest_of(back, 3001))), whole);
}

TEST(DigestOfWords, DependsOnEveryBitAndPlace) {
  const std::vector<uint32_t> none(5000);
  std::vector<uint32_t> words = none;
  for (const size_t place : {0u, 1u, 4999u}) {
    for (int bit = 0; bit < 32; ++bit) {
      words[place] = uint32_t(1) << bit;
      EXPECT_NE(digest_of(words), digest_of(none));
      words[place == 0 ? 1 : 0] ^= uint32_t(1) << bit;
      EXPECT_NE(digest_of(words), digest_of(none)) << "two places, bit " << bit;
      words = none;
    }
  }
  std::vector<uint16_t> halves(100);
  halves[7] = 5;
  const int64_t before = digest_of(halves);
  std::swap(halves[7], halves[8]);
  EXPECT_NE(digest_of(halves), before) << "5 moves to the next place";
}

TEST(DigestOfWords, IsNotTakenOfAStepThatIsNotAudited) {
  Stream stream(1);
  const StepInputs inputs{};
  const uint32_t word = 1;
  int64_t sum = 3;
  digest(stream, &inputs, 1, &word, 0, &sum);
  stream.wait();
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace zero::kernels
