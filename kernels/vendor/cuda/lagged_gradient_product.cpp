// The lagged product whose tiles are finished with the gradient of GELU and with sums of columns.

#include <cuda_runtime.h>

#include "kernels/vendor/cuda/fast_gelu.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"
#include "kernels/vendor/cuda/lagged_turns.hpp"

namespace zero::kernels::vendor {
namespace {

using namespace lagged;

static_assert(kRows == kGradientSumRows);

/// Returns the products of a pair with the slopes of GELU, rounded, and adds them to two sums.
__device__ __forceinline__ uint32_t gradient_of_pair(uint32_t x, uint32_t product, float2& sum) {
  const uint32_t rounded = packed(low_of(product) * fast_gelu_slope(low_of(x)),
                                  high_of(product) * fast_gelu_slope(high_of(x)));
  sum.x += low_of(rounded);
  sum.y += high_of(rounded);
  return rounded;
}

/// Sums of a thread's columns.
struct Sums {
  float2 x{}, y{}, z{}, w{};
};

__device__ __forceinline__ uint4 gradient_of_chunk(const uint4& x, const uint4& product,
                                                   Sums& sum) {
  return {gradient_of_pair(x.x, product.x, sum.x), gradient_of_pair(x.y, product.y, sum.y),
          gradient_of_pair(x.z, product.z, sum.z), gradient_of_pair(x.w, product.w, sum.w)};
}

/// c = product in bf16 * slope of GELU at aux, and sums over the rows of a tile of c.
struct FinishGradient {
  using Weights = ColumnMajor;
  static constexpr bool kAddsBias = false;
  static constexpr int kBeside = kFinishers * kColumns;  ///< a sum for each finishing warp
  static constexpr int kFinishRegisters = 136, kMultiplyRegisters = 184;
  int m, n;
  const __nv_bfloat16* aux;  ///< [m, n]
  __nv_bfloat16* c;          ///< [m, n]
  float* partial;            ///< [tiles along m, n]; null: no sums

  __device__ __forceinline__ void tiles(Walk walk, const unsigned char* result, float* sums) const {
    if (!walk.more()) return;
    for (int half = 0; half < 2; ++half) arrive_at(kEmpty + half);
    Place place = Place::of(m, n, walk.place());
    AuxTurn ahead[2] = {aux_turn(place, 0), aux_turn(place, 1)};
    while (walk.more()) {
      const int2 tile = walk.place();
      walk.next();
      const bool more = walk.more();
      const Place next = more ? Place::of(m, n, walk.place()) : Place{0, 0};
      Sums sum;
      wait_for_tile();
      finish_turns(result, more, [&](int turn, const Turn& left) {
        const AuxTurn x = ahead[0];
        ahead[0] = ahead[1];
        const bool here = turn + 2 < kTurns;
        const Place from{here ? place.first : next.first, here ? place.rows : next.rows};
        ahead[1] = aux_turn(from, turn + 2 - (here ? 0 : kTurns));
        finish(place, turn, x, left, sum);
      });
      if (partial != nullptr) leave_sums(tile, sum, sums);
      place = next;
    }
  }

 private:
  /// A turn's rows of aux; memory answers later than two turns take.
  struct AuxTurn {
    uint4 chunk[kAtOnce];
  };

  __device__ __forceinline__ AuxTurn aux_turn(const Place& place, int turn) const {
    AuxTurn made;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int i = turn * kAtOnce + u;
      made.chunk[u] =
          place.inside(i) ? __ldcs(reinterpret_cast<const uint4*>(aux + place.at(i, n))) : uint4{};
    }
    return made;
  }

  __device__ __forceinline__ void finish(const Place& place, int turn, const AuxTurn& x,
                                         const Turn& left, Sums& sum) const {
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const uint4 y = gradient_of_chunk(x.chunk[u], left.chunk[u], sum);
      const int i = turn * kAtOnce + u;
      if (place.inside(i)) store_chunk(c, place.at(i, n), y);
    }
  }

  /// Adds the warps' sums in their order. No warp leaves the next tile's before all have read
  /// these: it would have to meet them at kFull first.
  __device__ __forceinline__ void leave_sums(int2 tile, const Sums& sum, float* sums) const {
    float4* const own = reinterpret_cast<float4*>(sums + Seat().warp * kColumns) + Seat().lane * 2;
    own[0] = {sum.x.x, sum.x.y, sum.y.x, sum.y.y};
    own[1] = {sum.z.x, sum.z.y, sum.w.x, sum.w.y};
    wait_at(kFinished, kFinishing);
    for (int j = Seat().index; j < kColumns; j += kFinishing) {
      const int column = tile.y * kColumns + j;
      if (tile.x * kRows >= m || column >= n) continue;
      float all = sums[j];
#pragma unroll
      for (int warp = 1; warp < kFinishers; ++warp) all += sums[warp * kColumns + j];
      partial[int64_t(tile.x) * n + column] = all;
    }
  }
};

}  // namespace

bool run_lagged_gradient_product(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands) {
  return launch_lagged(stream, spec, operands,
                       FinishGradient{.m = int(spec.m),
                                      .n = int(spec.n),
                                      .aux = static_cast<const __nv_bfloat16*>(operands.aux),
                                      .c = static_cast<__nv_bfloat16*>(operands.c),
                                      .partial = operands.sums ? operands.scratch : nullptr});
}

}  // namespace zero::kernels::vendor
