// A text continued greedily by a model with random weights, token by token with the cache of keys
// and values: tokens a second at a context of 256, beside the rate at which the weights alone could
// be read. MODEL is a model.name; gpt2, of 124 million parameters, is the usual one. Ends with
// status 1 if recomputing the whole text gives other bits.
//
// usage: perf_train_decode THREADS fp32|bf16 [ROUNDS [MODEL]]

#include <omp.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "perf/support/random_weights.hpp"
#include "perf/support/timing.hpp"
#include "zero/config/read_config.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/model/recipe.hpp"
#include "zero/text/text_decoder.hpp"

namespace zero::perf {
namespace {

constexpr int64_t kContext = 1024, kPrompt = 192, kTokens = 128, kIds = 49152;
constexpr int64_t kReadNumel = int64_t(64) << 20;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns the recipe of a model that the program knows by name.
model::Recipe recipe_named(const std::string& name) {
  const model::Catalogue all = model::catalogue();
  const std::string input = "data.train = \"synthetic\"\nrun.steps = 1\nmodel.name = \"" + name +
                            "\"\ndata.sequence_length = 64\n";
  return model::recipe_of(read_config(all.models, input, "perf_train_decode").config);
}

/// Bytes of weights that a token reads: all but the rows that it does not look up.
double weight_bytes(const graph::Graph& graph) {
  double bytes = 0;
  for (const graph::Parameter& parameter : graph.parameters) {
    const graph::Tensor& tensor = graph[parameter.tensor];
    if (tensor.name != "wpe.weight") bytes += double(tensor.bytes());
  }
  return bytes;
}

/// Bytes a second that the team reads, the best of some sums over 256 MiB.
double read_rate(int threads) {
  const std::vector<float> values(size_t(kReadNumel), 1.0f);
  float total = 0;
  const double seconds = best_seconds(5, [&] {
    const float* const from = values.data();
    float sum = 0;
#pragma omp parallel for simd num_threads(threads) reduction(+ : sum) schedule(static)
    for (int64_t i = 0; i < kReadNumel; ++i) sum += from[i];
    total += sum;
  });
  if (total == 0) std::puts("");
  return double(kReadNumel) * sizeof(float) / seconds;
}

int32_t likeliest(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

struct Round {
  double prefill_rate, rate;  ///< tokens a second
  std::vector<int32_t> text;
  std::vector<float> last;
};

Round run(writing::Decoder& decoder) {
  Round round;
  for (int64_t i = 0; i < kPrompt; ++i) round.text.push_back(int32_t(i * i % kIds));
  decoder.clear();
  Clock::time_point begin = Clock::now();
  std::span<const float> logits = decoder.feed(round.text);
  round.prefill_rate = double(kPrompt) / seconds_since(begin);
  std::vector<double> seconds;
  for (int64_t i = 0; i < kTokens; ++i) {
    begin = Clock::now();
    round.text.push_back(likeliest(logits));
    logits = decoder.feed({&round.text.back(), 1});
    seconds.push_back(seconds_since(begin));
  }
  round.rate = 1.0 / median(seconds);
  round.last.assign(logits.begin(), logits.end());
  return round;
}

bool equals_recompute(writing::Decoder& decoder, const Round& round) {
  decoder.clear();
  const std::span<const float> logits = decoder.feed(round.text);
  return std::memcmp(logits.data(), round.last.data(), logits.size_bytes()) == 0;
}

bool measure(const std::string& model, Dtype compute, int threads, int rounds) {
  writing::Decoder decoder(recipe_named(model),
                           {.compute = compute, .context = kContext, .threads = threads});
  fill(decoder);
  run(decoder);
  std::vector<double> rates, shares, prefill;
  bool equal = true;
  for (int i = 0; i < rounds; ++i) {
    const double ceiling = read_rate(threads) / weight_bytes(decoder.graph());
    const Round round = run(decoder);
    rates.push_back(round.rate);
    shares.push_back(round.rate / ceiling);
    prefill.push_back(round.prefill_rate);
    equal = equal && equals_recompute(decoder, round);
  }
  std::printf(
      "{\"tps_med\": %.1f, \"share_of_read_rate\": %.2f, \"prefill_tps\": %.0f, "
      "\"equals_recompute\": %s}\n",
      median(rates), median(shares), median(prefill), equal ? "true" : "false");
  return equal;
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  zero::launch::prepare_environment(argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const bool known =
      argc >= 3 && (argv[2] == std::string("fp32") || argv[2] == std::string("bf16"));
  if (!known) {
    std::fprintf(stderr, "usage: %s THREADS fp32|bf16 [ROUNDS [MODEL]]\n", argv[0]);
    return 2;
  }
  const zero::Dtype compute = argv[2] == std::string("fp32") ? zero::Dtype::f32 : zero::Dtype::bf16;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  const std::string model = argc > 4 ? argv[4] : "gpt2";
  return zero::perf::measure(model, compute, std::atoi(argv[1]), rounds) ? 0 : 1;
}
