// Texts of the shape of t5-small with random weights: beams for a batch of sources, as many new
// tokens for each. Tokens a second of the texts that are kept, sources and searches included.
//
// usage: perf_train_texts THREADS fp32|bf16 [ROUNDS] [BATCH] [BEAMS]

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "perf/support/random_weights.hpp"
#include "perf/support/timing.hpp"
#include "src/model/t5.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::perf {
namespace {

constexpr int64_t kSource = 64, kTokens = 48;
constexpr model::T5 kModel{.layers = 6,
                           .decoder_layers = 6,
                           .width = 512,
                           .heads = 8,
                           .head_width = 64,
                           .inner = 2048,
                           .vocabulary = 32128};

std::vector<writing::TokenList> sources(int64_t count) {
  std::vector<writing::TokenList> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < size_t(kSource); ++j)
      all[i].push_back(int32_t(2 + (i * 7919 + j * 104729) % 32000));
  }
  return all;
}

double rate(writing::TextGenerator& generator, int64_t batch) {
  const auto begin = std::chrono::steady_clock::now();
  generator.write(sources(batch));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return double(batch * kTokens) / took.count();
}

struct Trial {
  Dtype compute;
  int threads, rounds;
  int64_t batch, beams;
};

void measure(const Trial& trial) {
  writing::GenerationOptions options{.compute = trial.compute, .threads = trial.threads};
  // No token ends a text, so that all have as many.
  options.rules.num_beams = trial.beams;
  options.rules.max_new_tokens = kTokens;
  options.batch = trial.batch;
  options.longest_source = kSource;
  writing::TextGenerator generator({kModel}, options);
  fill(generator);
  std::vector<double> rates;
  for (int round = 0; round <= trial.rounds; ++round) {
    const double one = rate(generator, trial.batch);
    if (round > 0) rates.push_back(one);
  }
  std::printf("{\"tps_med\": %.1f, \"batch\": %lld, \"beams\": %lld}\n", median(std::move(rates)),
              (long long)trial.batch, (long long)trial.beams);
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  zero::launch::prepare_environment(argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s THREADS fp32|bf16 [ROUNDS] [BATCH] [BEAMS]\n", argv[0]);
    return 2;
  }
  const auto number = [&](int place, int otherwise) {
    return argc > place ? std::max(1, std::atoi(argv[place])) : otherwise;
  };
  const bool half = argv[2] == std::string("bf16");
  zero::perf::measure({.compute = half ? zero::Dtype::bf16 : zero::Dtype::f32,
                       .threads = number(1, 1),
                       .rounds = number(3, 3),
                       .batch = number(4, 8),
                       .beams = number(5, 4)});
  return 0;
}
