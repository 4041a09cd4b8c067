#include <algorithm>
#include <cmath>

#include "src/model/decoder.hpp"
#include "zero/base/error.hpp"

namespace zero::model {
namespace {

constexpr int64_t kTied = 1;

std::vector<bool> flags_of(const std::vector<double>& list, int64_t layers, bool otherwise) {
  std::vector<bool> flags(size_t(layers), otherwise);
  for (size_t i = 0; i < std::min(flags.size(), list.size()); ++i) flags[i] = list[i] != 0;
  return flags;
}

double divisor_of(const DecoderRow& row, const ModelNumbers& numbers, int64_t head_width) {
  if (row.has_multipliers) return 1 / numbers.rate("attention_multiplier");
  const double scalar = numbers.rate("query_scalar");
  return std::sqrt(scalar > 0 ? scalar : double(head_width));
}

double embedding_scale_of(const DecoderRow& row, const ModelNumbers& numbers, int64_t width) {
  return row.scales_embedding ? std::sqrt(double(width)) : numbers.rate("embedding_multiplier");
}

}  // namespace

std::map<std::string, double, std::less<>> decoder_constants(const DecoderRow& row) {
  std::map<std::string, double, std::less<>> constants = rope_constants();
  constants.insert({{"epsilon", row.epsilon},
                    {"initializer_range", 0.02},
                    {"attention_bias", row.has_bias},
                    {"attention_out_bias", 0},
                    {"mlp_bias", 0},
                    {"window", row.window},
                    {"use_window", 0},
                    {"window_layers", 28},
                    {"window_period", double(row.period)},
                    {"turn_interval", 4},
                    {"rope_local_theta", row.local_theta},
                    {"query_growth", 0},
                    {"query_scalar", row.query_scalar},
                    {"attention_cap", row.attention_cap},
                    {"logit_cap", row.logit_cap},
                    {"attention_multiplier", row.has_multipliers},
                    {"embedding_multiplier", 1},
                    {"residual_multiplier", 1},
                    {"logits_scaling", 1}});
  return constants;
}

double approximate_parameters(const Decoder& model) {
  const auto width = double(model.width), head_width = double(model.head_width);
  const double attention = 2 * (double(model.heads) + double(model.key_heads)) * head_width;
  return 2 * double(model.vocabulary) * width +
         double(model.layers) * width * (attention + 3 * double(model.inner));
}

void complete_decoder(Architecture& model) {
  const DecoderRow& row = decoder_row(*model.family);
  ModelNumbers& numbers = model.numbers;
  const auto layers = size_t(numbers.count("layers"));
  if (row.skips_turns && !numbers.lists.contains("turns")) {
    std::vector<double>& turns = numbers.lists["turns"];
    for (size_t i = 0; i < layers; ++i) turns.push_back((i + 1) % 4 != 0);
  }
  if (row.sliding == Sliding::none || numbers.lists.contains("slides")) return;
  const bool has_window = numbers.rate("window") > 0, is_on = numbers.rate("use_window") != 0;
  std::vector<double>& slides = numbers.lists["slides"];
  for (size_t i = 0; i < layers; ++i) {
    bool here = has_window;
    if (row.sliding == Sliding::late)
      here = here && is_on && double(i) >= numbers.rate("window_layers");
    if (row.sliding == Sliding::unturned) here = here && is_on && numbers.list("turns")[i] == 0;
    if (row.sliding == Sliding::periodic) here = here && (i + 1) % size_t(row.period) != 0;
    slides.push_back(here);
  }
}

Decoder decoder_of(const Architecture& model) {
  const DecoderRow& row = decoder_row(*model.family);
  const ModelNumbers& numbers = model.numbers;
  Decoder decoder{
      .row = &row,
      .layers = numbers.count("layers"),
      .width = numbers.count("width"),
      .heads = numbers.count("heads"),
      .key_heads = numbers.count("key_heads"),
      .head_width = numbers.count("head_width"),
      .inner = numbers.count("inner"),
      .vocabulary = numbers.count("vocab_size"),
      .positions = numbers.count("max_positions"),
      .tied = numbers.count("classifier") == kTied,
      .dropout = float(numbers.rate("dropout")),
      .epsilon = float(numbers.rate("epsilon")),
      .deviation = float(numbers.rate("initializer_range")),
      .has_bias = numbers.rate("attention_bias") != 0,
      .has_output_bias = numbers.rate("attention_out_bias") != 0,
      .has_feed_bias = numbers.rate("mlp_bias") != 0,
      .divisor = divisor_of(row, numbers, numbers.count("head_width")),
      .attention_cap = float(numbers.rate("attention_cap")),
      .logit_cap = float(numbers.rate("logit_cap")),
      .embedding_scale = float(embedding_scale_of(row, numbers, numbers.count("width"))),
      .residual_scale = float(numbers.rate("residual_multiplier")),
      .logit_scale = float(1 / numbers.rate("logits_scaling")),
      .window = int64_t(numbers.rate("window")),
      .padding = numbers.list("pad").empty() ? -1 : int64_t(numbers.list("pad").front()),
      .slides = flags_of(numbers.list("slides"), numbers.count("layers"), false),
      .turns = flags_of(numbers.list("turns"), numbers.count("layers"), true),
      .rope = rope_of(numbers),
      .local_theta = numbers.rate("rope_local_theta"),
      .query_growth = numbers.rate("query_growth")};
  if (row.turns_sliding && decoder.window > 0) decoder.turns = decoder.slides;
  return decoder;
}

}  // namespace zero::model
