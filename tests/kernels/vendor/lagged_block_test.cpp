// Ranks: 1

#include "kernels/vendor/lagged_block.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/support/arrays.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor::lagged {
namespace {

using testing::noise;
using testing::poisoned;
using testing::same_bits;

/// A thread of a block on the host that does what lagged_block.hpp asks of one.
class Thread : public testing::HostBlockThread {
 public:
  explicit Thread(const testing::HostBlockThread& of) : HostBlockThread(of) {}

  Chunk read(const unsigned char* at) const { return *reinterpret_cast<const Chunk*>(at); }
  Chunk read_once(const bf16* at) const { return *reinterpret_cast<const Chunk*>(at); }
  void write(bf16* at, const Chunk& chunk) const { std::memcpy(at, &chunk, sizeof chunk); }
  float gelu(float x) const { return float(testing::gelu(x)); }
  float gelu_slope(float x) const { return float(testing::gelu_slope(x)); }
  uint32_t rounded(float low, float high) const {
    const bf16 pair[2] = {bf16(low), bf16(high)};
    return std::bit_cast<uint32_t>(pair);
  }
};

/// A block's tiles: its cluster's, of two clusters that take turns, one column of tiles behind the
/// other.
struct Walk {
  static constexpr int kClusters = 2;
  int clusters_m, tiles_n, block;
  int tile = block / kCluster;

  bool more() const { return tile < clusters_m * tiles_n; }
  void next() { tile += kClusters; }
  TilePlace place() const {
    return {tile % clusters_m * kCluster + block % kCluster, tile / clusters_m};
  }
};

struct Shape {
  int m, n;

  int tiles_m() const { return (m + kRows - 1) / kRows; }
  Walk walk(int block) const {
    return {.clusters_m = (tiles_m() + kCluster - 1) / kCluster,
            .tiles_n = (n + kColumns - 1) / kColumns,
            .block = block};
  }
};

/// A product, what it is finished with, and what finishing writes.
struct Trial {
  Shape shape;
  std::vector<float> product = noise<float>(int64_t(shape.m) * shape.n, 1);
  std::vector<bf16> bias = noise<bf16>(shape.n, 2), aux = noise<bf16>(numel(), 3, 3.0),
                    c = poisoned<bf16>(numel());
  std::vector<float> partial = poisoned<float>(int64_t(shape.tiles_m()) * shape.n);

  explicit Trial(const Shape& of) : shape(of) {}
  int64_t numel() const { return int64_t(shape.m) * shape.n; }
  /// Returns the element that a warp group leaves in shared memory; zero beside c, where operands
  /// are zeros.
  float left(int row, int column, const float* bias_of_tile) const {
    if (row >= shape.m || column >= shape.n) return 0;
    const float sum = product[size_t(int64_t(row) * shape.n + column)];
    return bias_of_tile ? sum + bias_of_tile[column % kColumns] : sum;
  }
};

/// Leaves a tile's half as the warp group does that multiplied it, which reads biases beside it.
void leave_half(const Thread& thread, const Trial& trial, TilePlace tile, unsigned char* result,
                const float* bias) {
  const int half = thread.thread() / kGroup - 1;
  for (int i = thread.thread() % kGroup; i < kHalf * kColumns; i += kGroup) {
    const int row = half * kHalf + i / kColumns, column = i % kColumns;
    const bf16 value(trial.left(tile.m * kRows + row, tile.n * kColumns + column, bias));
    std::memcpy(result + byte_of(row, column / kChunk) + column % kChunk * 2, &value, 2);
  }
}

/// Runs one block: two warp groups leave the trial's product, and three warps finish it.
template <class Finish>
void run_block(const Trial& trial, const Finish& finish, int block, bool biased) {
  std::vector<unsigned char> result(2 * kHalfBytes, 0xff);
  std::vector<float> beside(size_t(kFinishers * kColumns), 1e30f);
  testing::HostBlock(block, kThreads, 0, [&](const testing::HostBlockThread& of) {
    const Thread thread(of);
    Walk walk = trial.shape.walk(block);
    const int group = thread.thread() / kGroup, half = group - 1;
    if (group == 0) {
      if (thread.warp() > 0) finish(thread, walk, result.data(), beside.data());
      return;
    }
    for (; walk.more(); walk.next()) {
      thread.meet(kEmpty + half, kMeeting);
      leave_half(thread, trial, walk.place(), result.data(),
                 biased ? beside.data() + half * kColumns : nullptr);
      thread.arrive(kFull + half, kMeeting);
    }
  }).run();
}

/// Sides below, at and beyond those of tiles, more clusters of tiles than two take at once, and
/// none for the second block of a cluster.
constexpr Shape kShapes[] = {{1, 8}, {128, 256}, {129, 264}, {300, 520}, {700, 776}, {64, 1032}};

template <class Check>
void for_each_shape(const Check& check) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(text(shape.m, " x ", shape.n));
    Trial trial(shape);
    check(trial);
  }
}

TEST(LaggedBlock, TakesGeluOfEveryElementAsItWasRounded) {
  for_each_shape([](Trial& trial) {
    auto aux = poisoned<bf16>(trial.numel());
    const auto [m, n] = trial.shape;
    const GeluTiles finish{m, n, trial.bias.data(), aux.data(), trial.c.data()};
    for (int block = 3; block >= 0; --block) run_block(trial, finish, block, true);
    std::vector<bf16> wanted(aux.size()), gelu(aux.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = bf16(trial.product[i] + float(trial.bias[i % size_t(n)]));
      gelu[i] = bf16(float(testing::gelu(float(wanted[i]))));
    }
    EXPECT_TRUE(same_bits(aux, wanted));
    EXPECT_TRUE(same_bits(trial.c, gelu));
  });
}

/// Adds the rows of a tile as its warps do: every third one after the other, then the warps.
std::vector<float> sums_of(const std::vector<bf16>& c, const Shape& shape, int tile) {
  std::vector<float> sums(size_t(shape.n), 0.0f);
  const int rows = std::min(kRows, shape.m - tile * kRows);
  for (int j = 0; j < shape.n; ++j) {
    for (int warp = 0; warp < kFinishers; ++warp) {
      float of_warp = 0;
      for (int row = warp; row < rows; row += kFinishers)
        of_warp += float(c[size_t(int64_t(tile * kRows + row) * shape.n + j)]);
      sums[size_t(j)] = warp == 0 ? of_warp : sums[size_t(j)] + of_warp;
    }
  }
  return sums;
}

TEST(LaggedBlock, MultipliesByTheSlopeOfGeluAndAddsTheRowsOfATileInOrder) {
  for_each_shape([](Trial& trial) {
    const auto [m, n] = trial.shape;
    const GradientTiles finish{m, n, trial.aux.data(), trial.c.data(), trial.partial.data()};
    for (int block = 3; block >= 0; --block) run_block(trial, finish, block, false);
    std::vector<bf16> wanted(trial.c.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      wanted[i] =
          bf16(float(bf16(trial.product[i])) * float(testing::gelu_slope(float(trial.aux[i]))));
    EXPECT_TRUE(same_bits(trial.c, wanted));
    for (int tile = 0; tile < trial.shape.tiles_m(); ++tile) {
      const auto first = trial.partial.begin() + int64_t(tile) * n;
      EXPECT_TRUE(
          same_bits(std::vector<float>(first, first + n), sums_of(wanted, trial.shape, tile)))
          << tile;
    }
  });
}

TEST(LaggedBlock, LeavesSumsOutWhereNoneAreWanted) {
  Trial trial({300, 520});
  const GradientTiles finish{300, 520, trial.aux.data(), trial.c.data(), nullptr};
  for (int block = 0; block < 4; ++block) run_block(trial, finish, block, false);
  for (const float sum : trial.partial) EXPECT_TRUE(std::isnan(sum));
}

TEST(LaggedBlock, TurnsRowsSoThatEightOfThemMeetInNoBank) {
  for (int chunk = 0; chunk < 32; ++chunk) {
    std::vector<bool> taken(8, false);
    for (int row = 0; row < 8; ++row) {
      const int bank = byte_of(row, chunk) / 16 % 8;
      EXPECT_FALSE(taken[size_t(bank)]);
      taken[size_t(bank)] = true;
    }
  }
}

}  // namespace
}  // namespace zero::kernels::vendor::lagged
