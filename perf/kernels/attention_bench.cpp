// Attention of GPT-2 124M (12 heads of 64; a sample of 1024 tokens, and 8 of 128) in both
// directions, fp32, bf16 and fp16, one and two threads: GFLOP/s of the tile products that are
// carried out (a causal tile beyond the diagonal is not), beside a product of one square tile in
// the same run. Then attention of decoders of today, without dropout: heads that share keys, of
// SmolLM2-135M and Llama-3.2 1B, beside as many heads of their own; a window; and rows of documents
// of 200 tokens as the mean. Their shares count the pairs that queries see.
// usage: perf_kernels_attention [LEAST]; ends with status 1 where fp32 or bf16 of GPT-2 without
// dropout has less than this share of that product's rate in either direction.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "perf/support/square_product.hpp"
#include "perf/support/timing.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace {

using perf::median_of;

constexpr int kRounds = 5;
constexpr AttentionExtents kLong{.samples = 1, .length = 1024, .heads = 12, .head_width = 64};
constexpr AttentionExtents kShort{.samples = 8, .length = 128, .heads = 12, .head_width = 64};

/// Multiply-adds count two; query tiles of 128 see keys up to the end of their own tile.
double flops_of_two_products(const AttentionExtents& extents) {
  double pairs = 0;
  for (int64_t query = 0; query < extents.length; query += 128) pairs += 128.0 * (query + 128);
  return 4.0 * pairs * double(extents.head_width * extents.heads * extents.samples);
}

/// The first keys of rows of documents of 50 to 350 tokens; none if they are not `ranged`.
std::vector<int32_t> first_keys(const AttentionExtents& extents) {
  std::vector<int32_t> first;
  for (int64_t sample = 0; extents.ranged && sample < extents.samples; ++sample)
    for (int64_t begin = 0, document = sample; begin < extents.length; ++document) {
      const int64_t length = std::min<int64_t>(50 + document * 7919 % 301, extents.length - begin);
      first.insert(first.end(), size_t(length), int32_t(begin));
      begin += length;
    }
  return first;
}

/// Returns the operations of two products for the pairs that queries see.
double flops_of_seen_pairs(const AttentionExtents& extents, const std::vector<int32_t>& first) {
  double pairs = 0;
  for (int64_t row = 0; row < extents.samples * extents.length; ++row) {
    const int64_t query = row % extents.length;
    const int64_t begin = first.empty() ? 0 : first[size_t(row)];
    const int64_t near = extents.window > 0 ? query - extents.window + 1 : 0;
    pairs += double(query + 1 - std::max(begin, near));
  }
  return 4.0 * pairs * double(extents.head_width * extents.heads);
}

/// FLOP/s of one round.
struct Rates {
  double forward, backward, peak;
};

/// The conditions of a measurement.
struct Setting {
  int threads;
  float dropout;
  const char* name;
  bool seen = false;  ///< counts the pairs that queries see, not those of tiles
};

/// Returns the lesser share of the peak of both directions, each the median of all rounds.
template <class T>
double measure(const AttentionExtents& extents, const Setting& setting) {
  const auto [threads, dropout, name, seen] = setting;
  Stream stream(threads);
  adopt_threads(stream);
  const int64_t rows = extents.samples * extents.length, width = extents.inner_width();
  const int64_t keys = extents.key_width();
  std::vector<T> qkv(rows * (width + 2 * keys)), y(rows * width), dy(rows * width),
      dqkv(qkv.size());
  for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = T(0.01f * float(int(i * 7919 % 199) - 99));
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = T(0.01f * float(int(i * 104729 % 199) - 99));
  std::vector<float> logsumexp(rows * extents.heads);
  Arena scratch(attention_scratch_bytes(extents, dtype_of<T>(), threads));
  const std::vector<int32_t> first = first_keys(extents);
  AttentionInputs<T> in = packed_attention<T>(extents, qkv.data());
  in.first = extents.ranged ? first.data() : nullptr;
  const DropoutSite site{.probability = dropout, .site = 1, .sample_offset = 0};
  const StepInputs inputs{};
  const auto forward = [&] {
    attention<T>(stream, extents, site, &inputs, {in, y.data(), logsumexp.data(), scratch.data()});
    stream.wait();
  };
  const auto backward = [&] {
    attention_backward<T>(stream, extents, site, &inputs,
                          {in, dy.data(), y.data(), logsumexp.data(), dqkv.data(),
                           dqkv.data() + width, dqkv.data() + width + keys, scratch.data()});
    stream.wait();
  };
  perf::SquareProduct<T> square;
  const double flops = seen ? flops_of_seen_pairs(extents, first) : flops_of_two_products(extents);
  // A processor's clock differs from one second to the next: what is compared lies close together.
  std::vector<Rates> rounds(kRounds);
  for (Rates& round : rounds) {
    round = {.forward = flops / perf::best_seconds(5, forward),
             .backward = 2.5 * flops / perf::best_seconds(3, backward),
             .peak = square.kFlops / perf::best_seconds(2, [&] { square(stream); })};
  }
  const double ahead = median_of(rounds, [](const Rates& r) { return r.forward / r.peak; });
  const double back = median_of(rounds, [](const Rates& r) { return r.backward / r.peak; });
  std::printf(
      "%-5s %4d tokens%s, %d threads, dropout %.1f: peak %6.1f  forward %6.1f (%3.0f %%)  "
      "backward %6.1f (%3.0f %%)\n",
      std::string(name_of(dtype_of<T>())).c_str(), int(extents.length), name, threads, dropout,
      1e-9 * median_of(rounds, [](const Rates& r) { return r.peak; }),
      1e-9 * median_of(rounds, [](const Rates& r) { return r.forward; }), 100 * ahead,
      1e-9 * median_of(rounds, [](const Rates& r) { return r.backward; }), 100 * back);
  return std::min(ahead, back);
}

/// Returns the least share of those that are judged.
double measure_all() {
  double least = 1;
  for (const AttentionExtents& extents : {kLong, kShort}) {
    for (int threads : {1, 2}) {
      for (float dropout : {0.0f, 0.1f}) {
        const Setting setting{threads, dropout, ""};
        const double single = measure<float>(extents, setting);
        const double half = measure<bf16>(extents, setting);
        measure<f16>(extents, setting);
        if (dropout == 0) least = std::min({least, single, half});
      }
    }
  }
  return least;
}

void measure_both(const AttentionExtents& extents, const char* name, bool seen) {
  const Setting setting{2, 0, name, seen};
  measure<float>(extents, setting);
  measure<bf16>(extents, setting);
}

void measure_decoders() {
  AttentionExtents smollm{
      .samples = 2, .length = 512, .heads = 9, .head_width = 64, .key_heads = 9};
  AttentionExtents llama{
      .samples = 1, .length = 1024, .heads = 32, .head_width = 64, .key_heads = 32};
  measure_both(smollm, ", 9 heads to 9", false);
  smollm.key_heads = 3;
  measure_both(smollm, ", 9 heads to 3", false);
  measure_both(llama, ", 32 heads to 32", false);
  llama.key_heads = 8;
  measure_both(llama, ", 32 heads to 8", false);
  llama.window = 200;
  measure_both(llama, ", 32 to 8, a window of 200", true);
  llama.window = 0;
  llama.cap = 50;
  measure_both(llama, ", 32 to 8, capped", false);
  llama.cap = 0;
  llama.ranged = true;
  measure_both(llama, ", 32 to 8, documents", true);
}

}  // namespace
}  // namespace zero::kernels

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const double wanted = argc > 1 ? std::atof(argv[1]) : 0;
  const double least = zero::kernels::measure_all();
  zero::kernels::measure_decoders();
  std::printf("least share, fp32 and bf16 without dropout: %.2f\n", least);
  return least < wanted ? 1 : 0;
}
