// Ranks: 1

#include "kernels/support/staged_softmax.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/arrays.hpp"
#include "tests/support/device_block.hpp"

namespace zero::kernels {
namespace {

using testing::noise;
using testing::same_bits;
constexpr float kInfinity = INFINITY;

/// A thread of one of several blocks. What it copies reads as NaN until it has waited for it.
class StayingThread : public testing::HostBlockThread {
 public:
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };

  StayingThread(const testing::HostBlockThread& thread, int64_t count, std::vector<Copy>& copies)
      : HostBlockThread(thread), count_(count), copies_(copies) {}

  int64_t blocks() const { return count_; }
  void meet_warp() const { shuffle(0, lane()); }
  void copy_async(void* to, const void* from, size_t bytes) const {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(from) % 16, 0u);
    std::memset(to, 0xff, bytes);
    copies_.push_back({to, from, bytes});
  }
  void commit_copies() const {}
  template <int kPending>
  void wait_copies() const {
    static_assert(kPending == 0);
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
    copies_.clear();
  }

 private:
  int64_t count_;
  std::vector<Copy>& copies_;
};

/// Rows of logits, of a loss that is scaled by 64 and counts 4 tokens.
template <class T>
struct Rows {
  int64_t count, vocabulary, columns;
  std::vector<float> x;
  std::vector<int32_t> targets;
  std::vector<double> losses;
  StepInputs inputs{};
  StepState state{};

  Rows(int64_t rows, int64_t classes, int64_t padded)
      : count(rows),
        vocabulary(classes),
        columns(padded),
        x(noise<float>(rows * padded, 1, 3.0)),
        losses(size_t(rows), -1.0) {
    for (int64_t i = 0; i < rows; ++i)
      targets.push_back(i % 3 == 2 ? -1 : int32_t((i + 1) * 7919 % vocabulary));
    inputs.counted_tokens = 4;
    state.loss_scale = 64.0f;
  }

  template <class Loss>
  HeldRow<T, Loss> held(bool gradient, const Loss& loss) {
    return {{reinterpret_cast<std::byte*>(x.data()), vocabulary, columns},
            {targets.data(), losses.data(), &inputs, &state},
            gradient,
            loss};
  }
  /// A block of its own for each row.
  template <class Loss>
  void run_one_by_one(bool gradient, const Loss& loss) {
    const SoftmaxBlock<T, Loss> code{held(gradient, loss)};
    for (int64_t r = 0; r < count; ++r)
      testing::HostBlock(r, code.kThreads, code.kSharedNumel,
                         [&](const testing::HostBlockThread& block) { code(block); })
          .run();
  }
  template <class Loss>
  void run_staged(int64_t blocks, bool gradient, const Loss& loss) {
    const StagedSoftmax<T, Loss> code{held(gradient, loss), count};
    for (int64_t b = 0; b < blocks; ++b) {
      std::vector<std::vector<StayingThread::Copy>> copies(size_t(code.kThreads));
      testing::HostBlock(b, code.kThreads, code.shared_numel(columns),
                         [&](const testing::HostBlockThread& block) {
                           code(StayingThread(block, blocks, copies[size_t(block.thread())]));
                         })
          .run();
      for (const auto& left : copies) EXPECT_TRUE(left.empty()) << "a copy outlives its block";
    }
  }
};

template <class T, class Loss = PlainLoss>
void expect_same_bits(const Rows<T>& given, int64_t blocks, bool gradient = true,
                      const Loss& loss = {}) {
  SCOPED_TRACE(text(given.count, " rows of ", given.columns, " by ", blocks, " blocks"));
  Rows<T> one = given, staged = given;
  one.run_one_by_one(gradient, loss);
  staged.run_staged(blocks, gradient, loss);
  EXPECT_TRUE(same_bits(staged.losses, one.losses));
  EXPECT_TRUE(same_bits(staged.x, one.x));
}

template <class T>
class StagedSoftmaxOf : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(StagedSoftmaxOf, Elements);

TYPED_TEST(StagedSoftmaxOf, RowsOfEveryLengthHasTheBitsOfABlockARow) {
  expect_same_bits(Rows<TypeParam>(3, 1, 8), 2);
  expect_same_bits(Rows<TypeParam>(5, 90, 96), 2);
  expect_same_bits(Rows<TypeParam>(3, 8185, 8192), 1);
  expect_same_bits(Rows<TypeParam>(3, 50257, 50304), 2);
  expect_same_bits(Rows<TypeParam>(2, kMostHeldLogits - 3, kMostHeldLogits), 1);
}

TYPED_TEST(StagedSoftmaxOf, RowsThatBlocksDoNotDivideIsWhole) {
  expect_same_bits(Rows<TypeParam>(7, 3070, 3072), 3);
  expect_same_bits(Rows<TypeParam>(2, 3070, 3072), 5);
}

TYPED_TEST(StagedSoftmaxOf, RowsWithoutGradientLeavesLogits) {
  expect_same_bits(Rows<TypeParam>(5, 3070, 3072), 2, false);
}

TYPED_TEST(StagedSoftmaxOf, RowsWithOptionsHasTheBitsOfABlockARow) {
  const auto bias = noise<TypeParam>(8192, 2, 3.0);
  expect_same_bits(Rows<TypeParam>(3, 8185, 8192), 2, true,
                   LossWithOptions<TypeParam>{0.5f, 0.25f, bias.data()});
}

TYPED_TEST(StagedSoftmaxOf, RowsThatAreNotFiniteHasTheBitsOfABlockARow) {
  Rows<TypeParam> rows(4, 3070, 3072);
  std::fill_n(rows.x.begin(), 3000, -kInfinity);
  rows.x[3072 + 5] = kInfinity;
  rows.x[2 * 3072 + 7] = std::nanf("");
  for (size_t j = 0; j < 3072; j += 2) rows.x[3 * 3072 + j] = -95.0f;
  expect_same_bits(rows, 2);
}

TEST(StagedRuns, OfAWarpLieInPlacesOfTheirOwnAndMeetInNoBank) {
  std::vector<int> places;
  for (int piece = 0; piece < 64; ++piece) places.push_back(StagedRuns::place(piece));
  // Eight lanes at a time move 16 bytes each: together all 32 banks.
  const auto banks = [&](int first, int step) {
    std::vector<int> found;
    for (int i = 0; i < 8; ++i) found.push_back(places[size_t(first + i * step)] % 32 / 4);
    std::ranges::sort(found);
    return found;
  };
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int first = 0; first < 64; first += 8) EXPECT_EQ(banks(first, 1), all) << first;
  for (int first = 0; first < 64; first += 16) {
    EXPECT_EQ(banks(first, 2), all) << first;
    EXPECT_EQ(banks(first + 1, 2), all) << first;
  }
  std::ranges::sort(places);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(places[size_t(i)], 4 * i);
}

TEST(StagedSoftmax, WantsTheSharedMemoryOfOneRowAndALittleMore) {
  using Code = StagedSoftmax<bf16>;
  EXPECT_EQ(Code::shared_numel(50304), 32 + 197 * 256);
  EXPECT_LE(Code::shared_numel(50304) * 4, 227 << 10);  // of an H100's multiprocessor
}

}  // namespace
}  // namespace zero::kernels
