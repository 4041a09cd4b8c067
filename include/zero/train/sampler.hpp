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

/// The index that a uniform number in [0, 1) falls on under softmax(logits / temperature).
int64_t draw(std::span<const float> logits, double temperature, double uniform);

/// Text drawn byte by byte from the model's fp32 master weights, samples apart by a blank line.
/// Rank 0 joins the weights and runs the forward graph alone, in order, over the last 128 bytes at
/// most. Collective; the text is on rank 0, "" elsewhere.
std::string sample_text(const StateView& view, const Peers& peers, const model::Gpt2& model,
                        const SampleOptions& options);

}  // namespace zero::train
