#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/launch/peers.hpp"
#include "zero/model/recipe.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/state_view.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/search_rules.hpp"

namespace zero::writing {

struct SampleOptions {
  /// Rules of [generation]. Without them, texts of `tokens` each are drawn at `temperature`.
  std::optional<SearchRules> rules = {};
  int64_t samples = 1;
  int64_t tokens = 200;  ///< in each sample
  double temperature = 0.8;
  uint64_t seed = 0;
  int threads = 1;
  std::optional<DecodingRanks> together = {};  ///< none: rank 0 joins the whole model
  LentMemory lent = {};
};

/// Opens config's tokenizer for the output of a model of these data. Throws SettingsError if
/// data.tokenizer does not know the tokens, or knows more than the model.
std::unique_ptr<Tokenizer> open_sample_tokenizer(const RunConfig& config, const DataSets& data,
                                                 const model::Architecture& model);

/// Returns the bytes of sample_text() with this recipe, tokenizer and options beside the training's
/// plan: fp32 weights and caches. `sequence_length` is the tokens of a training sample. Only rank 0
/// takes them if it joins the whole model.
plan::TierBytes sample_bytes(const model::Recipe& recipe, int64_t sequence_length,
                             const Tokenizer& tokenizer, const SampleOptions& options);

/// Returns the texts that `options` ask for, from the fp32 master weights of the ranks' views, on
/// rank 0; "" elsewhere. The recipe's model has no encoder. With rules, texts are those of
/// generate_texts(). Without rules, each is drawn token by token after a newline, or after eos if
/// the tokenizer has no newline. Blank lines separate samples. The first is what `zeroapp generate`
/// draws with the seed from a model without generation settings. Rank 0 feeds a Decoder, whose
/// context is at most a training sample. If it joins the weights, the other ranks, on all nodes,
/// receive signs of life. Collective. REQUIRES: nothing else uses `peers` meanwhile.
std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Recipe& recipe, const Tokenizer& tokenizer,
                        const SampleOptions& options);

}  // namespace zero::writing
