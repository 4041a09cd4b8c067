// Products without a library: packed panels and a vectorising inner loop, fp32 only.
// Source: Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".

#include <algorithm>
#include <exception>

#include "kernels/support/host_threads.hpp"
#include "kernels/vendor/host/gemm.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

// A tile of accumulators fills half of 32 vector registers; panels fill half of a 1 MiB cache.
constexpr int kTileRows = 8;
constexpr int kTileColumns = 32;
constexpr int64_t kBlockRows = 128;
constexpr int64_t kBlockColumns = 256;
constexpr int64_t kBlockDepth = 256;

struct Block {
  int64_t row, rows, column, columns, depth, depths;
};

/// Packs a into panels of kTileRows rows, tile[k * kTileRows + row], zero-padded.
void pack_a(const GemmSpec& spec, const Block& block, const float* a, float* packed) {
  const int64_t row_stride = spec.transpose_a ? 1 : spec.lda;
  const int64_t depth_stride = spec.transpose_a ? spec.lda : 1;
  for (int64_t panel = 0; panel < block.rows; panel += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, block.rows - panel);
    for (int64_t k = 0; k < block.depths; ++k, packed += kTileRows) {
      const float* from = a + (block.row + panel) * row_stride + (block.depth + k) * depth_stride;
      for (int64_t i = 0; i < kTileRows; ++i) packed[i] = i < rows ? from[i * row_stride] : 0.0f;
    }
  }
}

void pack_b(const GemmSpec& spec, const Block& block, const float* b, float* packed) {
  const int64_t column_stride = spec.transpose_b ? spec.ldb : 1;
  const int64_t depth_stride = spec.transpose_b ? 1 : spec.ldb;
  for (int64_t panel = 0; panel < block.columns; panel += kTileColumns) {
    const int64_t columns = std::min<int64_t>(kTileColumns, block.columns - panel);
    for (int64_t k = 0; k < block.depths; ++k, packed += kTileColumns) {
      const float* from =
          b + (block.column + panel) * column_stride + (block.depth + k) * depth_stride;
      for (int64_t j = 0; j < columns; ++j) packed[j] = from[j * column_stride];
      std::fill(packed + columns, packed + kTileColumns, 0.0f);
    }
  }
}

struct Tile {
  float value[kTileRows][kTileColumns];
};

void multiply_tile(int64_t depths, const float* a, const float* b, Tile& tile) {
  Tile sum{};
  for (int64_t k = 0; k < depths; ++k)
    for (int i = 0; i < kTileRows; ++i)
      for (int j = 0; j < kTileColumns; ++j)
        sum.value[i][j] += a[k * kTileRows + i] * b[k * kTileColumns + j];
  tile = sum;
}

void multiply_block(const Block& block, const float* a, const float* b, float* sums) {
  Tile tile;
  for (int64_t i = 0; i < block.rows; i += kTileRows) {
    for (int64_t j = 0; j < block.columns; j += kTileColumns) {
      multiply_tile(block.depths, a + i * block.depths, b + j * block.depths, tile);
      for (int row = 0; row < kTileRows; ++row)
        for (int column = 0; column < kTileColumns; ++column)
          sums[(i + row) * kBlockColumns + j + column] += tile.value[row][column];
    }
  }
}

void store_block(const GemmSpec& spec, const GemmOperands& operands, const Block& block,
                 const float* sums) {
  const auto* bias = static_cast<const float*>(operands.bias);
  for (int64_t i = 0; i < block.rows; ++i) {
    float* c = static_cast<float*>(operands.c) + (block.row + i) * spec.ldc + block.column;
    for (int64_t j = 0; j < block.columns; ++j) {
      const float added = spec.bias ? bias[block.column + j] : spec.accumulate ? c[j] : 0.0f;
      c[j] = sums[i * kBlockColumns + j] + added;
    }
  }
}

/// Computes one block of c, whole depth in order, so no number of threads changes its bits.
void multiply_strip(const GemmSpec& spec, const GemmOperands& operands, Block block) {
  thread_local HostBuffer buffer;
  constexpr int64_t kA = kBlockRows * kBlockDepth, kB = kBlockColumns * kBlockDepth;
  constexpr int64_t kSums = kBlockRows * kBlockColumns;
  float* a = reinterpret_cast<float*>(buffer.reserve((kA + kB + kSums) * sizeof(float)));
  float* b = a + kA;
  float* sums = b + kB;
  std::fill(sums, sums + kSums, 0.0f);
  for (block.depth = 0; block.depth < spec.k; block.depth += kBlockDepth) {
    block.depths = std::min(kBlockDepth, spec.k - block.depth);
    pack_a(spec, block, static_cast<const float*>(operands.a), a);
    pack_b(spec, block, static_cast<const float*>(operands.b), b);
    multiply_block(block, a, b, sums);
  }
  store_block(spec, operands, block, sums);
}

}  // namespace

bool multiplies(Dtype in) { return in == Dtype::f32; }

void host_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads) {
  const int64_t strips = ceil_div(spec.n, kBlockColumns);
  const int64_t blocks = ceil_div(spec.m, kBlockRows) * strips;
  on_threads(threads, blocks, [&](int, int64_t index) {
    const int64_t row = index / strips * kBlockRows, column = index % strips * kBlockColumns;
    multiply_strip(spec, operands,
                   {.row = row,
                    .rows = std::min(kBlockRows, spec.m - row),
                    .column = column,
                    .columns = std::min(kBlockColumns, spec.n - column),
                    .depth = 0,
                    .depths = 0});
  });
}

void prepare_host_gemm(const GemmSpec&, int) {}

int64_t gemms_made() { return 0; }

const char* gemm_library() { return "plain loops"; }

const char* gemm_isa() { return "as compiled"; }

}  // namespace zero::kernels::vendor
