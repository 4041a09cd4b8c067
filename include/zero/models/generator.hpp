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
#include "zero/io/data/dataset.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/family.hpp"
#include "zero/models/score_rules.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/request.hpp"
#include "zero/run/executor.hpp"
#include "zero/state/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

class StoredModel;

/// Memory of the device that nobody else uses meanwhile, such as what a training's plan leaves free
/// between bodies: the bytes of an arena from `begin` on. A plan of more bytes takes its own.
struct LentMemory {
  const Arena* arena = nullptr;
  int64_t begin = 0;
};

/// Ranks that hold a model's weights together, as stage 3 holds them, and run every body of the
/// plans that write texts together, each with rows of its own, or none.
struct WeightsTogether {
  /// The ranks, buckets and home of weights of a training at stage 3.
  plan::Request request;
  int rank = 0;
  run::LaneComms comms = {};
  /// Grows by what the bodies that run send by their plan; may be none.
  plan::CollectiveForecasts* planned = nullptr;
  /// The largest value of all ranks. Collective.
  std::function<int64_t(int64_t)> largest = {};
  /// Watches an executor that ranks wait for each other in, while it is armed; may be none.
  std::function<std::unique_ptr<launch::Watchdog>(const plan::Plan&, run::Executor&)> watch = {};
};
/// What plans that write texts take of a training's request; none but at stage 3, where a rank may
/// have no room for the whole model.
std::optional<WeightsTogether> weights_together(const plan::Request& training);
/// The same with all that its ranks need to run such plans; a rank that fails ends all, and a hang
/// is found. `session` and communicators outlive it.
std::optional<WeightsTogether> weights_together(launch::Session& session,
                                                const plan::Request& training,
                                                const run::LaneComms& comms);

/// A trained model without an encoder that continues one text token by token: a compiled decode
/// plan with a cache of keys and values, on this process alone or with weights that ranks hold
/// together. Then one rank feeds, and the others follow.
class Decoder {
 public:
  struct Options {
    Dtype compute = Dtype::f32;
    int64_t context = 0;  ///< tokens the cache holds; at most the model's positions; 0 = all
    int threads = 1;
    std::optional<WeightsTogether> together = {};  ///< none: this process holds the whole model
    LentMemory lent = {};
  };
  static plan::TierBytes bytes(const model::Architecture& model, const Options& options);

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

  /// Runs with the rank that feeds whatever it runs, until it dismisses those that follow.
  void follow();
  void dismiss();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

using TokenList = std::vector<int32_t>;

/// Is told of each text when it has ended, by its place among the sources.
using TextVisitor = std::function<void(int64_t place, const TokenList& text)>;

struct GenerationOptions {
  SearchRules rules = {};
  Dtype compute = Dtype::f32;
  int threads = 1;
  int64_t batch = 8;           ///< sources that are worked on at a time; no text depends on it
  int64_t longest_source = 0;  ///< tokens of the longest source, or prompt, that will come
  std::optional<WeightsTogether> together = {};  ///< none: this process holds the whole model
  LentMemory lent = {};
};

/// Writes texts for sources: compiled plans with caches of several texts, and of what an encoder
/// has made of sources, on this process alone or with weights that ranks hold together. A source is
/// what the encoder reads, and a text begins with the decoder's start; of a model without an
/// encoder it is what the text begins with.
class TextGenerator {
 public:
  static plan::TierBytes bytes(const model::Architecture& model, const GenerationOptions& options);

  /// Throws Error(kUsage) where the lengths exceed the model's positions.
  TextGenerator(const model::Architecture& model, const GenerationOptions& options);
  ~TextGenerator();
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  /// As a Decoder's.
  const graph::Graph& graph() const;
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// A text for each source, with its beginning and, where one ended it, its end token. Text i
  /// is the number numbers[i] of those that rules.choice.seed draws, or i where there are none, and
  /// depends on no other source. `visit`, if set, sees each as it ends, and `moved` is called after
  /// each step. Throws Error(kUsage) for a source that is empty or too long, or holds what is no
  /// token of the model.
  /// Ranks that hold the weights together each give sources of their own, or none, and return when
  /// all texts of all ranks have ended; collective.
  std::vector<TokenList> write(std::span<const TokenList> sources,
                               std::span<const int64_t> numbers = {}, const TextVisitor& visit = {},
                               const std::function<void()>& moved = {});

  /// Whether ranks hold the weights together.
  bool is_shared() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Gives `set` every parameter of a stored model in pieces: its index in the graph, the first
/// element of the piece, and its elements. Throws as the model's read().
void load_weights(const StoredModel& model, const graph::Graph& graph,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

/// The same for a Decoder or a TextGenerator.
template <class Reader>
requires requires(const Reader& reader) { reader.graph(); }
void load_weights(const StoredModel& model, Reader& reader) {
  load_weights(model, reader.graph(),
               [&](int32_t parameter, int64_t first, std::span<const float> values) {
                 reader.set_parameter(parameter, first, values);
               });
}

/// Texts for all `sources`, which are the same on every rank, from a model while it is trained: of
/// its fp32 master weights each rank takes all or, where they are held together, its part, and rank
/// r writes the texts of sources r, r + ranks, ... Texts are in the order of sources, on every
/// rank, and the same at every number of ranks and however weights are held. Nothing else may use
/// `peers` meanwhile. Collective.
std::vector<TokenList> generate_texts(const state::StateView& view, const launch::Peers& peers,
                                      const model::Architecture& model,
                                      const GenerationOptions& options,
                                      std::span<const TokenList> sources);

/// The same by a generator that has its weights, whose ranks each hold them or hold them together.
/// The first source is the number `first` of those that a seed draws.
std::vector<TokenList> write_by_ranks(TextGenerator& generator, const launch::Peers& peers,
                                      std::span<const TokenList> sources, int64_t first = 0);

/// Warns, on rank 0, of texts that ended since rules left them no token; `stuck` are those of this
/// rank among `count` of all. Collective.
void warn_of_stuck(const launch::Peers& peers, int64_t stuck, int64_t count);

/// What rank 0 has, on every rank. Throws Error(kInput) where it is too much to share. Collective.
std::vector<TokenList> shared_by_first(const launch::Peers& peers,
                                       std::span<const TokenList> texts);

/// Adds the ids of a model that `tokenizer` does not know, but for those that end a text, to those
/// that no text has.
void suppress_unknown(const Tokenizer& tokenizer, const model::DataForm& form, ScoreRules& rules);

/// What an answer says: without its start and end, which among bytes are no special ids, and
/// without special ids and those that the tokenizer does not know.
std::string answer_text(TokenList ids, int64_t start, int64_t end, const Tokenizer& tokenizer);

/// The index that a uniform number in [0, 1) falls on under softmax(scores).
int64_t draw(std::span<const float> scores, double uniform);

/// The token that comes `number` after the prompt: of seed, text, number and scores alone.
int32_t choose_token(std::span<const float> scores, const TokenChoice& choice, uint32_t number);

/// A model that continues tokens, such as a Decoder.
struct Language {
  /// Appends to the context and returns the logits after it.
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
                     const ScoreRules& rules, const TokenChoice& choice,
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
  /// What [generation] asks of texts; none: they are drawn at `temperature`, of `tokens` each.
  std::optional<SearchRules> rules = {};
  int64_t samples = 1;
  int64_t tokens = 200;  ///< of each
  double temperature = 0.8;
  uint64_t seed = 0;
  int threads = 1;
  std::optional<WeightsTogether> together = {};  ///< none: rank 0 joins the whole model
  LentMemory lent = {};
};

/// The tokenizer that decodes what a model of these data says. Throws SettingsError where
/// data.tokenizer does not know the tokens, or knows more of them than the model.
std::unique_ptr<Tokenizer> open_sample_tokenizer(const RunConfig& config, const DataSets& data,
                                                 const model::Architecture& model);

/// What sample_text() takes beside the training's plan: fp32 weights, and caches. Rank 0 alone
/// takes it where that one joins the whole model.
plan::TierBytes sample_bytes(const model::Architecture& model, int64_t sequence_length,
                             const Tokenizer& tokenizer, const SampleOptions& options);

/// Texts of a model without an encoder by its fp32 master weights. Under rules they are those of
/// generate_texts(); without, text is drawn token by token after a newline, or after eos
/// where the tokenizer has no newline, samples apart by a blank line: the first one is what
/// `zeroapp generate` draws with the seed where the model says nothing of generation. Rank 0 feeds
/// a Decoder, over at most as many tokens as a training sample has. Where it has joined the weights
/// the others, on other nodes too, hear that it lives. Nothing else may use `peers` meanwhile.
/// Collective; the text is on rank 0, "" elsewhere.
std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Architecture& model, const Tokenizer& tokenizer,
                        const SampleOptions& options);

}  // namespace zero::models
