#include "zero/train/sampler.hpp"

#include <algorithm>
#include <optional>

#include "zero/train/decoder.hpp"
#include "zero/train/generator.hpp"
#include "zero/train/state_reader.hpp"

namespace zero::train {
namespace {

constexpr int64_t kBytes = 256;  ///< tokens of a model of bytes
constexpr int64_t kMostParameters = 64'000'000;

/// What all ranks hold becomes rank 0's decoder's; the others have none.
void join_weights(const StateView& view, const Peers& peers, Decoder* decoder) {
  const size_t parameters = view.plan->graphs[0].parameters.size();
  for (size_t p = 0; p < parameters; ++p) {
    int64_t first = 0;
    join_state(view, peers, StateKind::master, int32_t(p), [&](std::span<const float> piece) {
      decoder->set_parameter(int32_t(p), first, piece);
      first += int64_t(piece.size());
    });
  }
}

std::string sample(const Language& language, const SampleOptions& options, uint64_t number) {
  const int32_t newline = '\n';
  const Choice choice{.temperature = options.temperature, .seed = options.seed + number};
  std::string bytes;
  language.clear();
  continue_tokens(language, {&newline, 1}, options.characters, choice,
                  [&](int32_t token) { bytes += char(token); });
  return bytes;
}

std::string samples(Decoder& decoder, int64_t context, const SampleOptions& options) {
  const Language language{
      .feed = [&](std::span<const int32_t> tokens) { return decoder.feed(tokens); },
      .clear = [&] { decoder.clear(); },
      .context = context,
      .vocabulary = kBytes};
  std::string text;
  for (int64_t i = 0; i < options.samples; ++i) {
    text += (i ? "\n\n" : "") + sample(language, options, uint64_t(i));
  }
  return text;
}

}  // namespace

std::string why_no_samples(const model::Gpt2& model) {
  if (model.vocabulary != kBytes) return "its tokens are no bytes";
  if (model::parameter_count(model) < kMostParameters) return "";
  return text("it has ", model::parameter_count(model), " parameters, at most ", kMostParameters,
              " are joined on one rank");
}

std::string sample_text(const StateView& view, const Peers& peers, const model::Gpt2& model,
                        const SampleOptions& options) {
  // Positions behind a training sample's last one were never trained.
  const int64_t context = std::min(view.plan->graphs[0].length, options.characters + 1);
  std::optional<Decoder> decoder;
  if (view.rank == 0)
    decoder.emplace(model, Decoder::Options{.context = context, .threads = options.threads});
  join_weights(view, peers, decoder ? &*decoder : nullptr);
  return decoder ? samples(*decoder, context, options) : "";
}

}  // namespace zero::train
