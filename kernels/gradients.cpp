#include "zero/kernels/gradients.hpp"

#include <cstring>

#include "kernels/support/elements.hpp"
#include "kernels/support/rows.hpp"
#include "kernels/support/square_block.hpp"

namespace zero::kernels {
namespace {

const std::string kAccumulate = "zero::accumulate", kRoundSum = "zero::round_sum",
                  kSumOfSquares = "zero::sum_of_squares", kDigest = "zero::digest",
                  kClear = "zero::clear";

/// The squares of one block, which has one thread on the host.
template <class T, class G, bool kRound>
struct Squares {
  int64_t numel;
  const G* grad;
  StepSums* sums;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t block) const {
    const int64_t begin = block * kBlockNumel;
    const int64_t count = least(kBlockNumel, numel - begin);
    const G* const g = grad + begin;
    const double sum = row.template sum<double>(count, [=](int64_t i) {
      const float value = kRound ? float(T(float(g[i]))) : float(g[i]);
      return double(value) * double(value);
    });
    // Squares of fp32 numbers stay far below fp64's largest, so the sum is non-finite only if an
    // element is.
    row.once([&] {
      if (sum <= kLargest) {
        add_atomically(sums->grad_squares, sum);
      } else {
        Kokkos::atomic_add(&sums->nonfinite, int64_t(1));
      }
    });
  }

  static constexpr double kLargest = 0x1.fffffffffffffp+1023;
};

template <class T, bool kRound, class G>
void add_squares(Stream& stream, int64_t numel, const G* grad, StepSums* sums) {
  if constexpr (kHostSpace) {
    for_each_row(stream, kSumOfSquares, ceil_div(numel, kBlockNumel),
                 Squares<T, G, kRound>{numel, grad, sums});
  } else if (numel % kRunNumel == 0 && takes_runs(grad)) {
    const SquareBlock<T, G, kRound, true> code{numel, grad, sums};
    launch_blocks<kSquareWarps * kWarpLanes>(stream, kSumOfSquares, code.blocks(), code);
  } else {
    const SquareBlock<T, G, kRound, false> code{numel, grad, sums};
    launch_blocks<kSquareWarps * kWarpLanes>(stream, kSumOfSquares, code.blocks(), code);
  }
}

/// The words of one block, each times 2 x place x kStride + 1, modulo 2^32.
template <class Word>
struct Digest {
  const StepInputs* inputs;
  int64_t numel;
  const Word* words;
  int64_t first;
  int64_t* sum;

  static constexpr uint32_t kStride = 0x9e3779b1u;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t block) const {
    if (inputs->audited == 0) return;
    const int64_t begin = block * kBlockNumel;
    const Word* const word = words + begin;
    const uint32_t place = uint32_t(first + begin);
    const uint64_t part =
        row.template sum<uint64_t>(least(kBlockNumel, numel - begin), [=](int64_t i) {
          return uint64_t(word[i]) * uint64_t(2 * (place + uint32_t(i)) * kStride + 1);
        });
    row.once([&] { Kokkos::atomic_add(sum, int64_t(part)); });
  }
};

}  // namespace

template <class T>
void accumulate(Stream& stream, int64_t numel, const T* grad, float* sum, bool start) {
  if (start) {
    map_elements(
        stream, kAccumulate, numel, Mapped<float, T>{grad, nullptr, sum},
        KOKKOS_LAMBDA(float value, float) { return value; });
  } else {
    map_elements(
        stream, kAccumulate, numel, Mapped<float, T, float>{grad, sum, sum},
        KOKKOS_LAMBDA(float value, float before) { return before + value; });
  }
}

template <class T>
void round_sum(Stream& stream, int64_t numel, const float* sum, T* out) {
  map_elements(
      stream, kRoundSum, numel, Mapped<T, float>{sum, nullptr, out},
      KOKKOS_LAMBDA(float value, float) { return value; });
}

template <class T, class G>
void sum_of_squares(Stream& stream, int64_t numel, const G* grad, bool round, StepSums* sums) {
  if (round && !std::is_same_v<T, G>)
    add_squares<T, true>(stream, numel, grad, sums);
  else
    add_squares<T, false>(stream, numel, grad, sums);
}

template <class Word>
void digest(Stream& stream, const StepInputs* inputs, int64_t numel, const Word* words,
            int64_t first, int64_t* sum) {
  if (kHostSpace && inputs->audited == 0) return;
  for_each_row(stream, kDigest, ceil_div(numel, kBlockNumel),
               Digest<Word>{inputs, numel, words, first, sum});
}

void clear_bytes(Stream& stream, int64_t bytes, void* memory) {
  if (stream.is_of_host()) {
    stream.wait();
    std::memset(memory, 0, size_t(bytes));
    return;
  }
  auto* const at = static_cast<unsigned char*>(memory);
  for_each_block(
      stream, kClear, {0, bytes}, KOKKOS_LAMBDA(int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) at[i] = 0;
      });
}

template void accumulate(Stream&, int64_t, const float*, float*, bool);
template void accumulate(Stream&, int64_t, const bf16*, float*, bool);
template void accumulate(Stream&, int64_t, const f16*, float*, bool);
template void round_sum(Stream&, int64_t, const float*, float*);
template void round_sum(Stream&, int64_t, const float*, bf16*);
template void round_sum(Stream&, int64_t, const float*, f16*);
template void sum_of_squares<float>(Stream&, int64_t, const float*, bool, StepSums*);
template void sum_of_squares<bf16>(Stream&, int64_t, const bf16*, bool, StepSums*);
template void sum_of_squares<bf16>(Stream&, int64_t, const float*, bool, StepSums*);
template void sum_of_squares<f16>(Stream&, int64_t, const f16*, bool, StepSums*);
template void sum_of_squares<f16>(Stream&, int64_t, const float*, bool, StepSums*);
template void digest(Stream&, const StepInputs*, int64_t, const uint16_t*, int64_t, int64_t*);
template void digest(Stream&, const StepInputs*, int64_t, const uint32_t*, int64_t, int64_t*);

}  // namespace zero::kernels
