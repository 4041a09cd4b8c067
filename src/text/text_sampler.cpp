#include "zero/text/text_sampler.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

#include "src/text/row_decoder.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/sign_of_life.hpp"
#include "zero/text/continuation.hpp"
#include "zero/text/shared_texts.hpp"
#include "zero/text/text_decoder.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::writing {
namespace {

constexpr const char* kKey = "evaluation.show_samples";

/// Returns the tokens before a sample: a newline, as a prompt, or a text's end if the tokenizer has
/// none.
std::vector<int32_t> start_of(const Tokenizer& tokenizer) {
  const std::vector<int32_t> newline = encode_prompt(tokenizer, "\n");
  if (!newline.empty()) return newline;
  return {std::max(tokenizer.special_ids().eos, 0)};
}

std::string sample(const Language& language, const Tokenizer& tokenizer,
                   const SampleOptions& options, uint64_t number, std::atomic<int64_t>& drawn) {
  const TokenChoice choice{
      .draws = DrawRules{.temperature = options.temperature}, .seed = options.seed, .text = number};
  std::vector<int32_t> tokens;
  language.clear();
  continue_tokens(language, start_of(tokenizer), options.tokens, {}, choice, [&](int32_t token) {
    tokens.push_back(token);
    ++drawn;
  });
  return tokenizer.decode(tokens);
}

std::string samples(Decoder& decoder, const Tokenizer& tokenizer, const SampleOptions& options,
                    std::atomic<int64_t>& drawn) {
  const Language language = decoder.language(tokenizer.vocab_size());
  std::string text;
  for (int64_t i = 0; i < options.samples; ++i) {
    text += (i ? "\n\n" : "") + sample(language, tokenizer, options, uint64_t(i), drawn);
  }
  return text;
}

/// Returns the context. Positions behind a training sample's last one are untrained, and a cache
/// may not span all of them.
int64_t context_of(const model::Recipe& recipe, int64_t sequence_length,
                   const SampleOptions& options) {
  return std::min({sequence_length, options.tokens + 1, model::data_form(recipe.model).context()});
}

Decoder::Options decoder_options(const model::Recipe& recipe, int64_t sequence_length,
                                 const SampleOptions& options) {
  return {.context = context_of(recipe, sequence_length, options),
          .threads = options.threads,
          .together = options.together,
          .lent = options.lent};
}

/// Returns options as for a prompt of generate: known tokens alone, to the tokenizer's end unless
/// another is named. `stuck` counts texts that rules leave no token.
GenerationOptions search_options(const SampleOptions& options, const model::Architecture& model,
                                 const Tokenizer& tokenizer,
                                 std::atomic<int64_t>* stuck = nullptr) {
  GenerationOptions made{.rules = *options.rules,
                         .threads = options.threads,
                         .batch = std::min<int64_t>(options.samples, 8),
                         .longest_source = int64_t(start_of(tokenizer).size()),
                         .together = options.together,
                         .lent = options.lent};
  const int32_t end = tokenizer.special_ids().eos;
  if (made.rules.scores.eos_token_id.empty() && end >= 0) made.rules.scores.eos_token_id = {end};
  suppress_unknown(tokenizer, model::data_form(model), made.rules.scores);
  made.rules.stuck = stuck;
  return made;
}

std::string searched_samples(const state::StateView& view, const launch::Peers& peers,
                             const model::Recipe& recipe, const Tokenizer& tokenizer,
                             const SampleOptions& options) {
  const std::vector<int32_t> start = start_of(tokenizer);
  const std::vector<TokenList> sources(size_t(options.samples), start);
  std::atomic<int64_t> stuck{0};
  const auto texts = generate_texts(
      view, peers, recipe, search_options(options, recipe.model, tokenizer, &stuck), sources);
  warn_of_stuck(peers, stuck, options.samples);
  if (peers.rank() > 0) return "";
  std::string all;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto added = std::span(texts[i]).subspan(start.size());
    all += (i ? "\n\n" : "") + tokenizer.decode(added, SpecialTokens::kSkipped);
  }
  return all;
}

/// Joins the whole model and samples on rank 0, while the others receive signs of life.
std::string sample_alone(const state::StateView& view, const launch::Peers& peers,
                         const model::Recipe& recipe, const Tokenizer& tokenizer,
                         const SampleOptions& options) {
  const Decoder::Options decodes = decoder_options(recipe, view.plan->graphs[0].length, options);
  std::optional<Decoder> decoder;
  if (view.rank == 0) decoder.emplace(recipe, decodes);
  join_weights(view, peers, 1, [&](int32_t index, int64_t first, std::span<const float> values) {
    decoder->set_parameter(index, first, values);
  });
  std::atomic<int64_t> drawn{0};
  launch::SignOfLife life(
      peers,
      {.name = "its samples", .slow = "a token takes long", .moved = [&] { return drawn.load(); }});
  const std::string text = decoder ? samples(*decoder, tokenizer, options, drawn) : "";
  life.finish();
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> open_sample_tokenizer(const RunConfig& config, const DataSets& data,
                                                 const model::Architecture& model) {
  const int64_t tokens = data.train_source->vocab_size();
  if (config.data.tokenizer == "bytes" && tokens > 256) {
    refuse_settings({kKey, "data.tokenizer"}, "nothing here can decode the ", tokens, " tokens of ",
                    config.data.train, ": write data.tokenizer = the folder of ",
                    "their tokenizer.json, or vocab.json and merges.txt, or show_samples = 0");
  }
  auto tokenizer = open_tokenizer(config.data.tokenizer);
  const int64_t vocabulary = model::data_form(model).vocabulary;
  if (tokenizer->vocab_size() > vocabulary) {
    refuse_settings({kKey, "data.tokenizer", "model.vocab_size"}, "the tokenizer knows ",
                    tokenizer->vocab_size(), " tokens, the model ", vocabulary,
                    "; write show_samples = 0, or model.vocab_size = ", tokenizer->vocab_size());
  }
  return tokenizer;
}

plan::TierBytes sample_bytes(const model::Recipe& recipe, int64_t sequence_length,
                             const Tokenizer& tokenizer, const SampleOptions& options) {
  if (options.rules)
    return TextGenerator::bytes(recipe, search_options(options, recipe.model, tokenizer));
  return Decoder::bytes(recipe, decoder_options(recipe, sequence_length, options));
}

std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Recipe& recipe, const Tokenizer& tokenizer,
                        const SampleOptions& options) {
  if (options.rules) return searched_samples(view, peers, recipe, tokenizer, options);
  if (!options.together) return sample_alone(view, peers, recipe, tokenizer, options);
  const Decoder::Options decodes = decoder_options(recipe, view.plan->graphs[0].length, options);
  Decoder decoder(recipe, decodes);
  join_weights(view, peers, peers.ranks(),
               [&](int32_t index, int64_t first, std::span<const float> values) {
                 decoder.set_parameter(index, first, values);
               });
  if (peers.rank() > 0) {
    decoder.follow();
    return "";
  }
  std::atomic<int64_t> drawn{0};
  std::string text = samples(decoder, tokenizer, options, drawn);
  decoder.dismiss();
  return text;
}

}  // namespace zero::writing
