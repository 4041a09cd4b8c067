#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/text.hpp"
#include "zero/config/run_config.hpp"
#include "zero/device/arena.hpp"
#include "zero/graph/graph.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/family.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/request.hpp"
#include "zero/run/executor.hpp"
#include "zero/setup/build.hpp"
#include "zero/state/state_view.hpp"
#include "zero/text/score_rules.hpp"

namespace zero::stored {
class StoredModel;
}

namespace zero::writing {

/// A part of an arena on the device, from `begin` on, that is free meanwhile, such as what a
/// training's plan leaves free between bodies. A plan that needs more bytes takes its own.
struct LentMemory {
  const Arena* arena = nullptr;
  int64_t begin = 0;
};

/// The ranks that hold a model's weights together, as at stage 3. They run every body of plans that
/// write texts together, each with rows of its own, or none.
struct WeightsTogether {
  /// A training's ranks, buckets and home of weights at stage 3.
  plan::Request request;
  int rank = 0;
  run::LaneComms comms = {};
  /// Receives the planned collectives of the bodies that run; may be null.
  plan::CollectiveForecasts* planned = nullptr;
  /// Returns the largest value of all ranks. Collective.
  std::function<int64_t(int64_t)> largest = {};
  /// Watches an executor in which ranks wait for each other; may be empty.
  std::function<std::unique_ptr<launch::Watchdog>(const plan::Plan&, run::Executor&)> watch = {};
};
/// Returns the settings of a training's request for plans that write texts. Returns none unless
/// stage 3 shards weights over ranks or keeps them off the device.
std::optional<WeightsTogether> weights_together(const plan::Request& training);
/// Returns a training's settings for plans that write texts, with all that ranks need to run them.
/// A failed rank ends all, and a hang is found. REQUIRES: `session` and communicators outlive the
/// result.
std::optional<WeightsTogether> weights_together(launch::Session& session,
                                                const plan::Request& training,
                                                const run::LaneComms& comms);

/// A trained model without an encoder that continues one text token by token. It is a compiled
/// decode plan with a cache of keys and values, on this process alone or on ranks that hold the
/// weights together. If there are several ranks, one feeds and the others follow.
class Decoder {
 public:
  struct Options {
    Dtype compute = Dtype::f32;
    int64_t context = 0;  ///< tokens in the cache, at most the model's positions; 0 = all
    int threads = 1;
    std::optional<WeightsTogether> together = {};  ///< none: this process holds the whole model
    LentMemory lent = {};
  };
  static plan::TierBytes bytes(const model::Architecture& model, const Options& options);

  Decoder(const model::Architecture& model, const Options& options);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Returns the graph, with names and shapes of parameters in set_parameter()'s order.
  const graph::Graph& graph() const;

  /// Stores fp32 values, rounded to the compute type, from element `first` of parameter `index` on.
  /// Padding rows of the table stay zero.
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// Appends tokens to the context and returns the logits [vocabulary] after the last one, valid
  /// until the next call. Throws Error(kUsage) if the context is full.
  std::span<const float> feed(std::span<const int32_t> tokens);

  /// Returns the tokens in the context.
  int64_t position() const;
  /// Empties the context.
  void clear();

  /// Runs each body with the rank that feeds, until that rank calls dismiss().
  void follow();
  void dismiss();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

using TokenList = std::vector<int32_t>;

/// A callback for each text when it has ended, with its place among the sources.
using TextVisitor = std::function<void(int64_t place, const TokenList& text)>;

struct GenerationOptions {
  SearchRules rules = {};
  Dtype compute = Dtype::f32;
  int threads = 1;
  int64_t batch = 8;           ///< sources at a time; texts do not depend on it
  int64_t longest_source = 0;  ///< tokens of the longest source, or prompt, to come
  std::optional<WeightsTogether> together = {};  ///< none: this process holds the whole model
  LentMemory lent = {};
};

/// A writer of texts for sources, by compiled plans with caches for several texts and for an
/// encoder's results. Works on this process alone or on ranks that hold the weights together. A
/// source is the encoder's input, and its text begins with the decoder's start. Without an encoder,
/// the source begins the text.
class TextGenerator {
 public:
  static plan::TierBytes bytes(const model::Architecture& model, const GenerationOptions& options);

  /// Throws Error(kUsage) if the lengths exceed the model's positions.
  TextGenerator(const model::Architecture& model, const GenerationOptions& options);
  ~TextGenerator();
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  /// See Decoder.
  const graph::Graph& graph() const;
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// Returns a text for each source, with its beginning and, if one ended it, its end token. Text i
  /// is number numbers[i], or i without numbers, of the draws of rules.choice.seed. No text depends
  /// on other sources. Calls `visit` for each text as it ends, and `moved` after each step. Throws
  /// Error(kUsage) if a source is empty, too long, or has an unknown token.
  /// Collective on ranks that hold the weights together. Each gives its own sources, or none, and
  /// returns when all texts of all ranks have ended.
  std::vector<TokenList> write(std::span<const TokenList> sources,
                               std::span<const int64_t> numbers = {}, const TextVisitor& visit = {},
                               const std::function<void()>& moved = {});

  /// True if ranks hold the weights together.
  bool is_shared() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Calls `set` with every parameter of a stored model in pieces: the index in the graph, the first
/// element and the values. Throws as StoredModel::read().
void load_weights(const stored::StoredModel& model, const graph::Graph& graph,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

/// Copies a stored model's parameters to a Decoder or a TextGenerator.
template <class Reader>
requires requires(const Reader& reader) { reader.graph(); }
void load_weights(const stored::StoredModel& model, Reader& reader) {
  load_weights(model, reader.graph(),
               [&](int32_t parameter, int64_t first, std::span<const float> values) {
                 reader.set_parameter(parameter, first, values);
               });
}

/// Returns texts for all `sources`, on every rank and in their order, from a model in training.
/// Each rank takes all fp32 master weights or, if they are held together, its part. Rank r writes
/// the texts of sources r, r + ranks, ... Texts do not depend on the number of ranks or on how
/// weights are held. Collective. REQUIRES: all ranks give the same sources, and nothing else uses
/// `peers` meanwhile.
std::vector<TokenList> generate_texts(const state::StateView& view, const launch::Peers& peers,
                                      const model::Architecture& model,
                                      const GenerationOptions& options,
                                      std::span<const TokenList> sources);

/// Returns texts as generate_texts(), by a generator that has its weights, on each rank or held
/// together. The first source is number `first` of a seed's draws. Collective.
std::vector<TokenList> write_by_ranks(TextGenerator& generator, const launch::Peers& peers,
                                      std::span<const TokenList> sources, int64_t first = 0);

/// Warns, on rank 0, of texts that ended because rules left no token: `stuck` on this rank, of
/// `count` on all. Collective.
void warn_of_stuck(const launch::Peers& peers, int64_t stuck, int64_t count);

/// Returns rank 0's texts on every rank. Throws Error(kInput) if they are too large to share.
/// Collective.
std::vector<TokenList> shared_by_first(const launch::Peers& peers,
                                       std::span<const TokenList> texts);

/// Suppresses ids of a model that `tokenizer` does not know, except those that end a text.
void suppress_unknown(const Tokenizer& tokenizer, const model::DataForm& form, ScoreRules& rules);

/// Returns an answer's text without its start and end, which are ordinary ids among bytes, and
/// without special and unknown ids.
std::string answer_text(TokenList ids, int64_t start, int64_t end, const Tokenizer& tokenizer);

/// Returns the index that a uniform number in [0, 1) selects under softmax(scores).
int64_t draw(std::span<const float> scores, double uniform);

/// Returns the token that comes `number` after the prompt. Depends on seed, text, number and scores
/// alone.
int32_t choose_token(std::span<const float> scores, const TokenChoice& choice, uint32_t number);

/// A model that continues tokens, such as a Decoder.
struct Language {
  /// Appends to the context and returns the logits after it.
  std::function<std::span<const float>(std::span<const int32_t>)> feed;
  /// Empties the context.
  std::function<void()> clear;
  int64_t context = 0;     ///< capacity in tokens
  int64_t vocabulary = 0;  ///< tokens that may be chosen; at most the logits
};

/// Continues `prompt` by `count` tokens, or until one ends the text, and passes each to `visit`.
/// `rules` see the whole text. The model sees the last `context` tokens of a longer prompt. If the
/// context is full, the newer half is fed again at positions from 0 on. REQUIRES: `prompt` is not
/// empty.
void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const ScoreRules& rules, const TokenChoice& choice,
                     const std::function<void(int32_t)>& visit);

/// A converter of pieces of bytes to whole UTF-8 characters. It holds back incomplete characters
/// and replaces invalid ones by U+FFFD.
class CharacterStream {
 public:
  /// Returns the characters that these bytes complete.
  std::string add(std::string_view bytes);
  /// Returns the rest at the end of the text.
  std::string finish();

 private:
  Utf8Checker checker_;
  std::string held_;
};

struct SampleOptions {
  /// Rules of [generation]. Without them, texts of `tokens` each are drawn at `temperature`.
  std::optional<SearchRules> rules = {};
  int64_t samples = 1;
  int64_t tokens = 200;  ///< in each sample
  double temperature = 0.8;
  uint64_t seed = 0;
  int threads = 1;
  std::optional<WeightsTogether> together = {};  ///< none: rank 0 joins the whole model
  LentMemory lent = {};
};

/// Opens the tokenizer for the output of a model of these data. Throws SettingsError if
/// data.tokenizer does not know the tokens, or knows more than the model.
std::unique_ptr<Tokenizer> open_sample_tokenizer(const RunConfig& config, const DataSets& data,
                                                 const model::Architecture& model);

/// Returns the bytes of sample_text() beside the training's plan: fp32 weights and caches. Only
/// rank 0 takes them if it joins the whole model.
plan::TierBytes sample_bytes(const model::Architecture& model, int64_t sequence_length,
                             const Tokenizer& tokenizer, const SampleOptions& options);

/// Returns texts of a model without an encoder from its fp32 master weights, on rank 0; ""
/// elsewhere. With rules, texts are those of generate_texts(). Without rules, each is drawn token
/// by token after a newline, or after eos if the tokenizer has no newline. Blank lines separate
/// samples. The first is what `zeroapp generate` draws with the seed from a model without
/// generation settings. Rank 0 feeds a Decoder, whose context is at most a training sample. If it
/// joins the weights, the other ranks, on all nodes, receive signs of life. Collective. REQUIRES:
/// nothing else uses `peers` meanwhile.
std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Architecture& model, const Tokenizer& tokenizer,
                        const SampleOptions& options);

}  // namespace zero::writing
