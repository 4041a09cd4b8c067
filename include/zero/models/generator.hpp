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
#include "zero/graph/graph.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/launch/peers.hpp"
#include "zero/model/family.hpp"
#include "zero/models/score_rules.hpp"
#include "zero/state/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

class StoredModel;

/// A trained model without an encoder that continues one text token by token: a compiled decode
/// plan on this process alone, with a cache of keys and values. No MPI.
class Decoder {
 public:
  struct Options {
    Dtype compute = Dtype::f32;  ///< f32 or bf16
    int64_t context = 0;         ///< tokens the cache holds; at most the model's positions; 0 = all
    int threads = 1;
  };
  /// What a decoder of this kind takes of a device's memory, or of the host's where they are one.
  static int64_t bytes(const model::Architecture& model, const Options& options);

  Decoder(const model::Architecture& model, const Options& options);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Names and shapes of the parameters, in the order that set_parameter counts them.
  const graph::Graph& graph() const;

  /// Stores fp32 values, rounded to the compute type, from element `first` of parameter `index` on.
  /// Padding rows of the table stay zero.
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// Appends tokens to the context and returns the logits [vocabulary] that follow the last one,
  /// valid until the next call. Throws Error(kUsage) when the context is full.
  std::span<const float> feed(std::span<const int32_t> tokens);

  /// Tokens in the context.
  int64_t position() const;
  /// Forgets all of them.
  void clear();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

using TokenList = std::vector<int32_t>;

struct GenerationOptions {
  SearchRules rules = {};
  Dtype compute = Dtype::f32;  ///< f32 or bf16
  int threads = 1;
  int64_t batch = 8;           ///< sources that are worked on at a time; no text depends on it
  int64_t longest_source = 0;  ///< tokens of the longest source, or prompt, that will come
};

/// Writes texts for sources: compiled plans with caches of several texts, and of what an encoder
/// has made of sources, on this process alone. A source is what the encoder reads, and a text
/// begins with the decoder's start; of a model without an encoder it is what the text begins with.
/// No MPI.
class TextGenerator {
 public:
  /// What one of this kind takes of a device's memory, or of the host's where they are one.
  static int64_t bytes(const model::Architecture& model, const GenerationOptions& options);

  /// Throws Error(kUsage) where the lengths exceed the model's positions.
  TextGenerator(const model::Architecture& model, const GenerationOptions& options);
  ~TextGenerator();
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  /// As a Decoder's.
  const graph::Graph& graph() const;
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// A text for each source, with its beginning and, where one ended it, its end token. Text i
  /// draws with rules.choice.seed + numbers[i], or + i where there are none, and depends on no
  /// other source. `ended`, if set, is told after each step how many are there. Throws
  /// Error(kUsage) for a source that is empty or too long, or holds what is no token of the model.
  std::vector<TokenList> write(std::span<const TokenList> sources,
                               std::span<const int64_t> numbers = {},
                               const std::function<void(int64_t)>& ended = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Gives `set` every parameter of a stored model in pieces: its index in the graph, the first
/// element of the piece, and its elements. Throws as the model's read().
void load_weights(const StoredModel& model, const graph::Graph& graph,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

/// Texts for all `sources`, which are the same on every rank, from a model while it is trained: the
/// fp32 master weights are joined on every rank, and rank r writes those of sources r, r + ranks,
/// ... Texts are in the order of sources, on every rank, and the same at every number of ranks.
/// Nothing else may use `peers` meanwhile. Collective.
std::vector<TokenList> generate_texts(const state::StateView& view, const launch::Peers& peers,
                                      const model::Architecture& model,
                                      const GenerationOptions& options,
                                      std::span<const TokenList> sources);

/// Adds the ids of a model that `tokenizer` does not know, but for those that end a text, to those
/// that no text has.
void suppress_unknown(const Tokenizer& tokenizer, const model::DataForm& form, ScoreRules& rules);

/// What an answer says: without its start and end, which among bytes are no special ids, and
/// without special ids and those that the tokenizer does not know.
std::string answer_text(TokenList ids, int64_t start, int64_t end, const Tokenizer& tokenizer);

/// The index that a uniform number in [0, 1) falls on under softmax(scores).
int64_t draw(std::span<const float> scores, double uniform);

/// The token that comes `number` after the prompt: of seed, number and scores alone.
int32_t choose_token(std::span<const float> scores, const Choice& choice, uint32_t number);

/// A model that continues tokens, such as a Decoder.
struct Language {
  /// Appends to the context and returns the logits behind it.
  std::function<std::span<const float>(std::span<const int32_t>)> feed;
  /// Empties the context.
  std::function<void()> clear;
  int64_t context = 0;     ///< tokens that it holds
  int64_t vocabulary = 0;  ///< tokens that may be chosen; at most the logits
};

/// Continues `prompt`, which is not empty, by `count` tokens, or until one ends the text, and gives
/// each to `visit` when it is chosen. `rules` see the whole text. The model sees the last `context`
/// tokens of a longer prompt; whenever the context is full, the older half of it is forgotten and
/// the newer half fed again, at positions from 0 on.
void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const ScoreRules& rules, const Choice& choice,
                     const std::function<void(int32_t)>& visit);

/// Bytes that come piece by piece, as whole UTF-8 characters: what may still become one is held
/// back, what cannot is U+FFFD.
class CharacterStream {
 public:
  /// The characters that are complete now.
  std::string add(std::string_view bytes);
  /// What is left at the end of the text.
  std::string finish();

 private:
  Utf8Checker checker_;
  std::string held_;
};

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

/// Text drawn token by token from the model's fp32 master weights behind a newline, or behind eos
/// where the tokenizer has no newline, samples apart by a blank line: sample i is what `zeroapp
/// generate` draws with seed + i where the model says nothing of generation. Rank 0 joins the
/// weights and runs a Decoder alone, over at most as many tokens as a training sample has, while
/// the others, on other nodes too, hear that it lives. Nothing else may use `peers` meanwhile.
/// Collective; the text is on rank 0, "" elsewhere.
std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Architecture& model, const Tokenizer& tokenizer,
                        const SampleOptions& options);

}  // namespace zero::models
