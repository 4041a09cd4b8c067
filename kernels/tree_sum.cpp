#include "zero/kernels/tree_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

// Sources that one loop adds. A tree over more consists of such loops over blocks in the
// first-level cache.
constexpr int kUnrolled = 8;
constexpr int64_t kBlock = 1024;

constexpr int left_of(int count) { return int(std::bit_floor(unsigned(count - 1))); }

template <int Begin, int Count, class Sources>
inline float tree_at(const Sources& sources, int64_t i) {
  if constexpr (Count == 1) {
    return float(sources[Begin][i]);
  } else {
    constexpr int kLeft = left_of(Count);
    return tree_at<Begin, kLeft>(sources, i) + tree_at<Begin + kLeft, Count - kLeft>(sources, i);
  }
}

template <int Count, bool Add, class T, class Out>
void sum_unrolled(const T* const* given, int64_t numel, Out* __restrict out) {
  std::array<const T*, Count> sources;
  std::copy_n(given, Count, sources.begin());
  for (int64_t i = 0; i < numel; ++i) {
    const float sum = tree_at<0, Count>(sources, i);
    if constexpr (Add) {
      out[i] = Out(float(out[i]) + sum);
    } else {
      out[i] = Out(sum);
    }
  }
}

template <bool Add, class T, class Out, int... Counts>
void sum_few(std::span<const T* const> sources, int64_t numel, Out* out,
             std::integer_sequence<int, Counts...>) {
  ((int(sources.size()) == Counts + 1 &&
    (sum_unrolled<Counts + 1, Add>(sources.data(), numel, out), true)) ||
   ...);
}

template <bool Add, class T, class Out>
void sum_few(std::span<const T* const> sources, int64_t numel, Out* out) {
  sum_few<Add>(sources, numel, out, std::make_integer_sequence<int, kUnrolled>());
}

// Writes the sum of the subtree over `sources` for elements [begin, begin + numel), numel at most
// kBlock.
template <class T>
void sum_block(std::span<const T* const> sources, int64_t begin, int64_t numel, float* out) {
  if (int(sources.size()) <= kUnrolled) {
    std::array<const T*, kUnrolled> moved{};
    for (size_t s = 0; s < sources.size(); ++s) moved[s] = sources[s] + begin;
    sum_few<false>(std::span<const T* const>(moved.data(), sources.size()), numel, out);
    return;
  }
  const size_t left = size_t(left_of(int(sources.size())));
  std::array<float, kBlock> right;
  sum_block(sources.first(left), begin, numel, out);
  sum_block(sources.subspan(left), begin, numel, right.data());
  for (int64_t i = 0; i < numel; ++i) out[i] += right[size_t(i)];
}

template <bool Add, class T, class Out>
void sum_all(std::span<const T* const> sources, int64_t numel, Out* out) {
  if (int(sources.size()) <= kUnrolled) return sum_few<Add>(sources, numel, out);
  std::array<float, kBlock> block;
  const float* const sum = block.data();
  for (int64_t begin = 0; begin < numel; begin += kBlock) {
    const int64_t part = std::min(kBlock, numel - begin);
    sum_block(sources, begin, part, block.data());
    sum_few<Add>(std::span(&sum, 1), part, out + begin);
  }
}

}  // namespace

template <class T, class Out>
void tree_sum(std::span<const T* const> sources, int64_t numel, Out* out, bool add) {
  ZERO_REQUIRE(!sources.empty() && sources.size() <= size_t(kMaxTreeSources), "sum of ",
               sources.size(), " sources: 1 to ", kMaxTreeSources);
  if (add) {
    ZERO_REQUIRE(dtype_of<Out>() == Dtype::f32, "adding to ", name_of(dtype_of<Out>()),
                 ": only fp32 can be added to");
    sum_all<true>(sources, numel, out);
  } else {
    sum_all<false>(sources, numel, out);
  }
}

template <class Out>
void sum_groups(float* sums, int groups, int64_t numel, Out* out, bool add) {
  std::array<const float*, kMaxTreeSources> sources;
  const auto group_at = [&](int first) {
    const int count = std::min(kMaxTreeSources, groups - first);
    for (int g = 0; g < count; ++g) sources[size_t(g)] = sums + (first + g) * numel;
    return std::span<const float* const>(sources.data(), size_t(count));
  };
  while (groups > kMaxTreeSources) {
    float* const next = sums + groups * numel;
    for (int g = 0; g < groups_of(groups); ++g) {
      tree_sum<float, float>(group_at(g * kMaxTreeSources), numel, next + g * numel, false);
    }
    sums = next;
    groups = groups_of(groups);
  }
  tree_sum<float, Out>(group_at(0), numel, out, add);
}

template void sum_groups(float*, int, int64_t, float*, bool);
template void sum_groups(float*, int, int64_t, bf16*, bool);
template void sum_groups(float*, int, int64_t, f16*, bool);

template void tree_sum<float, float>(std::span<const float* const>, int64_t, float*, bool);
template void tree_sum<float, bf16>(std::span<const float* const>, int64_t, bf16*, bool);
template void tree_sum<float, f16>(std::span<const float* const>, int64_t, f16*, bool);
template void tree_sum<bf16, float>(std::span<const bf16* const>, int64_t, float*, bool);
template void tree_sum<f16, float>(std::span<const f16* const>, int64_t, float*, bool);
template void tree_sum<bf16, bf16>(std::span<const bf16* const>, int64_t, bf16*, bool);
template void tree_sum<f16, f16>(std::span<const f16* const>, int64_t, f16*, bool);

}  // namespace zero::kernels
