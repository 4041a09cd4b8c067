#include <algorithm>
#include <cstring>

#include "kernels/support/element_update.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/host_threads.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/device/copy.hpp"

namespace zero::kernels {
namespace {

/// Elements that are updated in a core's first cache before they are stored. A direct store that
/// misses would first read its line, a third more bytes.
constexpr int64_t kTileNumel = 1024;

template <class T>
struct Tile {
  using Low = typename MasterLow<T>::type;
  static constexpr bool kHasLow = !std::is_same_v<T, float>;
  alignas(64) T weight[kTileNumel];
  alignas(64) Low low[kHasLow ? kTileNumel : 1];
  alignas(64) float states[kMostStates][kTileNumel];
};

/// Updates elements of one segment from one set of arrays into another.
template <class Formula, bool kRound, class T, class G>
struct UpdateInto {
  using Low = typename MasterLow<T>::type;
  static constexpr bool kHasLow = Tile<T>::kHasLow;
  OptimizerConfig settings;
  float weight_decay;
  const StepState* state;
  OptimizerArrays<T, G> from, to;

  void operator()(int64_t first, int64_t last) const {
    Tile<T> tile;
    for (int64_t begin = first; begin < last; begin += kTileNumel) {
      const int64_t numel = std::min(last - begin, kTileNumel);
      update(tile, begin, numel);
      store(tile, begin, numel);
    }
  }

 private:
  void update(Tile<T>& tile, int64_t begin, int64_t numel) const {
    const Formula formula(settings, *state, weight_decay);
    const OptimizerArrays<T, G> a = from;
    const float multiplier = state->grad_multiplier;
    const auto one = [&](int64_t j) {
      const int64_t i = begin + j;
      float held[kMostStates], *at[kMostStates];
      for (int s = 0; s < Formula::kStates; ++s) {
        held[s] = a.states[s][i];
        at[s] = &held[s];
      }
      const float g = gradient_at<T, kRound>(a.grad, i, multiplier);
      store_master(formula(load_master(a.weight, a.low, i), g, at, 0), tile.weight, tile.low, j);
      for (int s = 0; s < Formula::kStates; ++s) tile.states[s][j] = held[s];
    };
    int64_t j = 0;
    for (; j + kStripNumel <= numel; j += kStripNumel) {
      if constexpr (sizeof(T) == 2) ask_ahead_of_all<Formula::kStates>(a, begin + j);
#pragma GCC ivdep
      for (int64_t k = j; k < j + kStripNumel; ++k) one(k);
    }
#pragma GCC ivdep
    for (int64_t k = j; k < numel; ++k) one(k);
  }

  void store(const Tile<T>& tile, int64_t begin, int64_t numel) const {
    const auto stream = [&](auto* array, const auto* tiled) {
      stage_copy(array + begin, tiled, numel * int64_t(sizeof(*tiled)));
    };
    stream(to.weight, tile.weight);
    if constexpr (kHasLow) stream(to.low, tile.low);
    for (int s = 0; s < Formula::kStates; ++s) stream(to.states[s], tile.states[s]);
  }
};

}  // namespace

template <class T, class G>
void update_into(Stream& stream, const OptimizerRule& rule,
                 std::span<const OptimizerSegment> segments, const StepState* state,
                 const OptimizerArrays<T, G>& from, const OptimizerArrays<T, G>& to) {
  stream.wait();
  if (state->apply == 0) return;
  int64_t numel = 0;
  for (const OptimizerSegment& segment : segments) {
    ZERO_REQUIRE(segment.begin % kStripNumel == 0, "a segment begins at element ", segment.begin,
                 ", not at a multiple of ", kStripNumel);
    numel = std::max(numel, segment.end);
  }
  with_form_of<T, G>(rule, [&](auto formula, auto rounds) {
    using Formula = typename decltype(formula)::type;
    on_threads(stream.threads(), ceil_div(numel, kPieceNumel), [&](int, int64_t piece) {
      for (const OptimizerSegment& segment : segments) {
        UpdateInto<Formula, rounds, T, G>{rule.settings, segment.weight_decay, state, from, to}(
            std::max(segment.begin, piece * kPieceNumel),
            std::min(segment.end, (piece + 1) * kPieceNumel));
      }
    });
  });
}

void copy_on_host(Stream& stream, std::span<const std::byte> from, std::byte* to) {
  stream.wait();
  constexpr int64_t kPieceBytes = 1 << 20;
  const int64_t bytes = int64_t(from.size());
  on_threads(stream.threads(), ceil_div(bytes, kPieceBytes), [&](int, int64_t piece) {
    const int64_t begin = piece * kPieceBytes;
    stage_copy(to + begin, from.data() + begin, std::min(kPieceBytes, bytes - begin));
  });
}

using Segments = std::span<const OptimizerSegment>;

template void update_into(Stream&, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<float, float>&,
                          const OptimizerArrays<float, float>&);
template void update_into(Stream&, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<bf16, bf16>&, const OptimizerArrays<bf16, bf16>&);
template void update_into(Stream&, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<bf16, float>&, const OptimizerArrays<bf16, float>&);
template void update_into(Stream&, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<f16, f16>&, const OptimizerArrays<f16, f16>&);
template void update_into(Stream&, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<f16, float>&, const OptimizerArrays<f16, float>&);

}  // namespace zero::kernels
