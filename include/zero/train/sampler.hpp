#pragma once

#include <cstdint>
#include <string>

#include "zero/train/build.hpp"
#include "zero/train/peers.hpp"
#include "zero/train/state_view.hpp"

namespace zero::train {

struct SampleOptions {
  int64_t samples = 1;
  int64_t characters = 200;  ///< of each
  double temperature = 0.8;
  uint64_t seed = 0;
  int threads = 1;
};

/// "" if text can be sampled from this model here, else why not: its tokens are no bytes, or its
/// weights are too many to be joined on one rank.
std::string why_no_samples(const model::Gpt2& model);

/// Text drawn byte by byte from the model's fp32 master weights behind a newline, samples apart by
/// a blank line: sample i is what `zeroapp generate` draws with seed + i. Rank 0 joins the weights
/// and runs a Decoder alone, over at most as many bytes as a training sample has. Collective; the
/// text is on rank 0, "" elsewhere.
std::string sample_text(const StateView& view, const Peers& peers, const model::Gpt2& model,
                        const SampleOptions& options);

}  // namespace zero::train
