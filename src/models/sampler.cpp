#include <algorithm>
#include <atomic>
#include <optional>

#include "src/models/joined_weights.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/models/generator.hpp"

namespace zero::models {
namespace {

constexpr const char* kKey = "evaluation.show_samples";

/// What a sample stands behind: a newline or, where that is no token, the end of a text.
std::vector<int32_t> start_of(const Tokenizer& tokenizer) {
  const std::vector<int32_t> newline = tokenizer.encode("\n");
  if (!newline.empty()) return newline;
  return {std::max(tokenizer.special_ids().eos, 0)};
}

std::string sample(const Language& language, const Tokenizer& tokenizer,
                   const SampleOptions& options, uint64_t number, std::atomic<int64_t>& drawn) {
  const Choice choice{.draws = DrawRules{.temperature = options.temperature},
                      .seed = options.seed + number};
  std::vector<int32_t> tokens;
  language.clear();
  continue_tokens(language, start_of(tokenizer), options.tokens, {}, choice, [&](int32_t token) {
    tokens.push_back(token);
    ++drawn;
  });
  return tokenizer.decode(tokens);
}

std::string samples(Decoder& decoder, int64_t context, const Tokenizer& tokenizer,
                    const SampleOptions& options, std::atomic<int64_t>& drawn) {
  const Language language{
      .feed = [&](std::span<const int32_t> tokens) { return decoder.feed(tokens); },
      .clear = [&] { decoder.clear(); },
      .context = context,
      .vocabulary = tokenizer.vocab_size()};
  std::string text;
  for (int64_t i = 0; i < options.samples; ++i) {
    text += (i ? "\n\n" : "") + sample(language, tokenizer, options, uint64_t(i), drawn);
  }
  return text;
}

/// Positions behind a training sample's last one were never trained.
int64_t context_of(int64_t sequence_length, const SampleOptions& options) {
  return std::min(sequence_length, options.tokens + 1);
}

}  // namespace

std::unique_ptr<Tokenizer> open_sample_tokenizer(const RunConfig& config, const DataSets& data,
                                                 const model::Architecture& model) {
  const int64_t tokens = data.train_source->vocab_size();
  if (config.data.tokenizer == "bytes" && tokens > 256) {
    refuse_settings({kKey, "data.tokenizer"}, "nothing here can decode the ", tokens, " tokens of ",
                    config.data.train, ": write data.tokenizer = the folder of ",
                    "their vocab.json and merges.txt, or show_samples = 0");
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

int64_t sample_bytes(const model::Architecture& model, int64_t sequence_length,
                     const SampleOptions& options) {
  return Decoder::bytes(
      model, {.context = context_of(sequence_length, options), .threads = options.threads});
}

std::string sample_text(const state::StateView& view, const launch::Peers& peers,
                        const model::Architecture& model, const Tokenizer& tokenizer,
                        const SampleOptions& options) {
  const int64_t context = context_of(view.plan->graphs[0].length, options);
  std::optional<Decoder> decoder;
  if (view.rank == 0)
    decoder.emplace(model, Decoder::Options{.context = context, .threads = options.threads});
  join_weights(view, peers, 1, [&](int32_t index, int64_t first, std::span<const float> values) {
    decoder->set_parameter(index, first, values);
  });
  std::atomic<int64_t> drawn{0};
  launch::SignOfLife life(
      peers,
      {.name = "its samples", .slow = "a token takes long", .moved = [&] { return drawn.load(); }});
  const std::string text = decoder ? samples(*decoder, context, tokenizer, options, drawn) : "";
  life.finish();
  return text;
}

}  // namespace zero::models
