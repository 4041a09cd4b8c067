#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/io/data/data_sets.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/launch/peers.hpp"
#include "zero/state/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

struct SampleOptions {
  int64_t samples = 1;
  int64_t tokens = 200;  ///< of each
  double temperature = 0.8;
  uint64_t seed = 0;
  int threads = 1;
};

/// The tokenizer that decodes what a model of these data says. Throws SettingsError where
/// data.tokenizer does not know the tokens, or knows more of them than the model.
std::unique_ptr<Tokenizer> open_sample_tokenizer(const RunConfig& config, const DataSets& data,
                                                 const model::Architecture& model);

/// The bytes that sample_text() takes on rank 0 beside those of the training's plan: fp32 weights
/// of the whole model, and caches.
int64_t sample_bytes(const model::Architecture& model, int64_t sequence_length,
                     const SampleOptions& options);

/// Text drawn token by token from the model's fp32 master weights behind a newline, samples apart
/// by a blank line: sample i is what `zeroapp generate` draws with seed + i. Rank 0 joins the
/// weights and runs a Decoder alone, over at most as many tokens as a training sample has, while
/// the others, on other nodes too, hear that it lives. Nothing else may use `peers` meanwhile.
/// Collective; the text is on rank 0, "" elsewhere.
std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Architecture& model, const Tokenizer& tokenizer,
                        const SampleOptions& options);

}  // namespace zero::models
