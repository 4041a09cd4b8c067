#include "src/model/gpt2.hpp"

#include <algorithm>
#include <cmath>

#include "src/model/shared_by_families.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using graph::GraphBuilder;
using graph::Init;
using graph::TensorId;

constexpr float kDeviation = 0.02f;
constexpr double kUsualDropout = 0.1;  // default of the class in Transformers, everywhere

struct Builder {
  const Gpt2& model;
  GraphBuilder& out;
  float dropout;  ///< 0 in evaluation

  TensorId norm(TensorId x, const std::string& name) {
    return layer_norm(out, x, name, model.epsilon);
  }

  TensorId linear(TensorId x, const std::string& name, const Shape& shape, float deviation) {
    const TensorId weight =
        out.parameter({.name = name + ".weight", .shape = shape, .deviation = deviation});
    const TensorId bias = out.parameter(
        {.name = name + ".bias", .shape = {shape[1]}, .decays = false, .init = Init::zeros});
    return graph::linear(out, x, weight, bias);
  }

  /// Adds attention with the products before and after it.
  TensorId attention(TensorId x, const std::string& name) {
    const int64_t width = model.width;
    const TensorId qkv = linear(x, name + ".c_attn", {width, 3 * width}, kDeviation);
    const TensorId mixed = graph::attention(out, qkv, {.heads = model.heads, .dropout = dropout});
    return linear(mixed, name + ".c_proj", {width, width}, residual_deviation());
  }

  /// Returns the deviation of a projection into the residual stream. The sum of all of them then
  /// has the same size at every depth.
  float residual_deviation() const {
    return float(kDeviation / std::sqrt(2.0 * double(model.layers)));
  }

  TensorId block(TensorId x, int64_t index) {
    const int64_t width = model.width;
    const std::string name = "h." + std::to_string(index);
    out.block(name);
    const TensorId norm_1 = norm(x, name + ".ln_1");
    const TensorId attended = attention(norm_1, name + ".attn");
    const TensorId middle = graph::dropout_add(out, attended, x, dropout, name + ".attn");
    const TensorId norm_2 = norm(middle, name + ".ln_2");
    const TensorId hidden = linear(norm_2, name + ".mlp.c_fc", {width, 4 * width}, kDeviation);
    const TensorId projected = linear(graph::gelu(out, hidden), name + ".mlp.c_proj",
                                      {4 * width, width}, residual_deviation());
    return graph::dropout_add(out, projected, middle, dropout, name);
  }

  /// Adds the layers from tokens to the final norm.
  Trunk trunk() {
    const int64_t padded = padded_vocabulary(model);
    out.unit("embedding");
    const TensorId wte = out.parameter({.name = "wte.weight",
                                        .shape = {padded, model.width},
                                        .deviation = kDeviation,
                                        .padding_rows = padded - model.vocabulary});
    const TensorId wpe = out.parameter(
        {.name = "wpe.weight", .shape = {model.positions, model.width}, .deviation = kDeviation});
    const TensorId tokens =
        out.input({.name = "tokens", .sample = {out.length()}, .ids = model.vocabulary});
    TensorId x = graph::embedding(out, tokens, wte, wpe);
    if (dropout > 0) x = graph::dropout_add(out, x, graph::kNone, dropout, "drop");
    for (int64_t i = 0; i < model.layers; ++i) x = block(x, i);
    out.unit("embedding");
    return {.last = norm(x, "ln_f"), .table = wte};
  }
};

void check(const Gpt2& model) {
  if (model.heads < 1 || model.width < 1 || model.width % model.heads != 0) {
    refuse(Exit::kUsage, "a width of ", model.width, " does not split into ", model.heads,
           " heads: change model.width or model.heads");
  }
  ZERO_REQUIRE(model.layers >= 1 && model.vocabulary >= 1, "a GPT-2 of ", model.layers,
               " layers and ", model.vocabulary, " classes: both must be at least 1");
}

/// Adds the forward graph up to the final hidden rows. Parameter names are Hugging Face's without
/// "transformer.": wte.weight, wpe.weight, h.0.ln_1.weight, h.0.attn.c_attn.weight [width, 3
/// width], ... Unit "embedding" holds wte, wpe and ln_f. Each block is a unit. Initialisation N(0,
/// 0.02); the two projections into the residual stream are smaller by 1 / sqrt(2 layers). Source:
/// Radford et al. 2019; Hugging Face modeling_gpt2.py for names and shapes.
Trunk trunk(GraphBuilder& out, const Gpt2& model, const ForwardOptions& options) {
  check(model);
  require_sample(options.micro.length, model.positions);
  return Builder{model, out, options.training ? model.dropout : 0.0f}.trunk();
}

Gpt2 of(const Architecture& model) {
  const ModelNumbers& numbers = model.numbers;
  return {.layers = numbers.count("layers"),
          .width = numbers.count("width"),
          .heads = numbers.count("heads"),
          .vocabulary = numbers.count("vocab_size"),
          .positions = numbers.count("max_positions"),
          .dropout = float(numbers.rate("dropout")),
          .epsilon = float(numbers.rate("epsilon"))};
}

void head(GraphBuilder& out, const Architecture& model, const Trunk& trunk,
          const ForwardOptions& options) {
  const int64_t vocabulary = of(model).vocabulary;
  const TensorId targets =
      out.input({.name = "targets", .sample = {out.length()}, .ids = vocabulary});
  graph::classifier(out, trunk.last, trunk.table, targets, vocabulary, classifier_rows(options));
}

/// Returns the description in checkpoints. Its words are a file format.
std::string fact_of(const Gpt2& model) {
  return text("gpt2 of ", model.layers, " layers of ", model.width, " with ", model.heads,
              " heads, ", model.vocabulary, " tokens, ", model.positions, " positions");
}

std::string words_of(const Gpt2& model) {
  return text(counted(model.layers, "layer"), " of ", model.width, " with ",
              counted(model.heads, "head"), ", ", model.vocabulary, " tokens, ",
              counted(model.positions, "position"), ", epsilon ", model.epsilon);
}

void require_same_network(const HubConfig& config, int64_t width) {
  const std::string activation = config.word_or("activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh") {
    config.fail("activation_function", "only \"gelu_new\"");
  }
  if (config.count_or("n_inner", INT64_MAX, 4 * width) != 4 * width) {
    config.fail("n_inner", text("only null or 4 x n_embd = ", 4 * width));
  }
  config.require("scale_attn_weights", true);
  config.require("scale_attn_by_inverse_layer_idx", false);
  config.require("add_cross_attention", false);
  config.require("tie_word_embeddings", true);
}

ModelNumbers from_hub(const HubConfig& config) {
  const Gpt2 model{.layers = config.count("n_layer", 10'000),
                   .width = config.count("n_embd", 1'000'000),
                   .heads = config.count("n_head", 1'000'000),
                   .vocabulary = config.count("vocab_size", 100'000'000),
                   .positions = config.count("n_positions", 100'000'000),
                   .dropout = config.share_or("resid_pdrop", kUsualDropout),
                   .epsilon = config.epsilon_or("layer_norm_epsilon", 1e-5)};
  if (model.width % model.heads != 0) config.fail("n_head", "a divisor of n_embd");
  require_same_network(config, model.width);
  return Architecture(model).numbers;
}

std::vector<HubEntry> to_hub(const Gpt2& model, std::string_view dtype) {
  // text() writes fp32 numbers in their shortest form: 1e-05, not 9.99999974e-06.
  return {{"architectures", R"(["GPT2LMHeadModel"])"},
          {"model_type", R"("gpt2")"},
          {"n_layer", text(model.layers)},
          {"n_embd", text(model.width)},
          {"n_head", text(model.heads)},
          {"n_positions", text(model.positions)},
          {"n_ctx", text(model.positions)},
          {"vocab_size", text(model.vocabulary)},
          {"activation_function", R"("gelu_new")"},
          {"tie_word_embeddings", "true"},
          {"bos_token_id", "null"},
          {"eos_token_id", "null"},
          {"torch_dtype", text('"', dtype, '"')},
          {"layer_norm_epsilon", text(model.epsilon)},
          {"embd_pdrop", text(model.dropout)},
          {"attn_pdrop", text(model.dropout)},
          {"resid_pdrop", text(model.dropout)}};
}

/// Returns the keys of [model]. Sources of the sizes: the public checkpoints; DeepSpeed's ZeRO
/// tutorial for the last two, whose vocabulary Megatron pads to 50304.
ModelFamily settings() {
  const auto bytes = [](const RunConfig&) -> int64_t { return 256; };
  const auto length = [](const RunConfig& config) { return config.data.sequence_length; };
  return {.name = "gpt2",
          .example_input = "inputs/gpt2_nano.toml",
          .counts = {{"layers", {.low = 1, .high = 10000, .automatic = true}},
                     {"width", {.low = 1, .high = 1 << 20, .automatic = true}},
                     {"heads", {.low = 1, .high = 1 << 14, .automatic = true}},
                     {"vocab_size", {.low = 2, .high = 1 << 24, .automatic = true}, bytes},
                     {"max_positions",
                      {.low = 1, .high = 1 << 24, .automatic = true},
                      length,
                      "data.sequence_length"}},
          .rates = {{"dropout", {.high = 1, .below_high = true}, 0.1}},
          .sizes = {{"gpt2", {12, 768, 12, 50257, 1024}},
                    {"gpt2-medium", {24, 1024, 16, 50257, 1024}},
                    {"gpt2-large", {36, 1280, 20, 50257, 1024}},
                    {"gpt2-xl", {48, 1600, 25, 50257, 1024}},
                    {"gpt2_1.5b", {48, 1600, 16, 50304, 1024}},
                    {"gpt2_10b", {50, 4096, 32, 50304, 1024}}},
          .rules = {{.keys = {"model.heads", "model.width"},
                     .broken = uneven_heads,
                     .example = {"model.name = \"\"", "model.layers = 2", "model.heads = 4",
                                 "model.width = 30"}},
                    {.keys = {"data.sequence_length", "model.max_positions", "model.name"},
                     .broken = long_sequence,
                     .example = {"data.sequence_length = 2048"}}},
          .blocks = {"layers"}};
}

/// Returns a probe. A host's is one block of the smallest model with a short table.
Probe probe(ProbeSize size) {
  switch (size) {
    case ProbeSize::brief:
      return {Gpt2{.layers = 4, .width = 64, .heads = 2, .vocabulary = 256, .positions = 32},
              {.samples = 1, .length = 32}};
    case ProbeSize::narrow:
      return {Gpt2{.layers = 1, .width = 128, .heads = 4, .vocabulary = 1024, .positions = 256},
              {.samples = 2, .length = 256}};
    case ProbeSize::host:
      return {Gpt2{.layers = 1, .width = 768, .heads = 12, .vocabulary = 4096, .positions = 256},
              {.samples = 2, .length = 256}};
    case ProbeSize::device:
      break;
  }
  return {Gpt2{.layers = 4, .width = 1600, .heads = 25, .vocabulary = 8192, .positions = 1024},
          {.samples = 4, .length = 1024}};
}

}  // namespace

Gpt2::operator Architecture() const {
  return {.family = &gpt2_family(),
          .numbers = {.counts = {{"layers", layers},
                                 {"width", width},
                                 {"heads", heads},
                                 {"vocab_size", vocabulary},
                                 {"max_positions", positions}},
                      .rates = {{"dropout", dropout}, {"epsilon", epsilon}}}};
}

const Family& gpt2_family() {
  static const Family kFamily{
      .settings = settings(),
      .constants = {{"epsilon", 1e-5}},
      .title = "GPT-2",
      .hub_type = "gpt2",
      .hub_class = "GPT2LMHeadModel",
      .stored = {.prefix = "transformer.",
                 .copies = {{"lm_head.weight", "wte.weight",
                             "only models whose head is the table of tokens are read"}},
                 .ends = {".attn.bias", ".attn.masked_bias"},
                 .other_heads = {"lm_head.", "score.", "classifier.", "qa_outputs.",
                                 "multiple_choice_head.", "v_head."}},
      .dropouts = {{"resid_pdrop", kUsualDropout},
                   {"embd_pdrop", kUsualDropout},
                   {"attn_pdrop", kUsualDropout}},
      .objectives = {"documents", "tokens"},
      .trunk = [](GraphBuilder& out, const Architecture& model,
                  const ForwardOptions& options) { return trunk(out, of(model), options); },
      .head = head,
      .decode = [](const Architecture& model, const graph::Chunk& chunk,
                   Dtype compute) { return gpt2_decode(of(model), chunk, compute); },
      .parameter_count = [](const Architecture& model) { return parameter_count(of(model)); },
      .flops_per_token =
          [](const Architecture& model, const graph::MicroBatch& micro) {
            return flops_per_token(of(model), micro.length);
          },
      .data_form = [](const Architecture& model) -> DataForm {
        return {.vocabulary = of(model).vocabulary, .positions = of(model).positions};
      },
      .fact = [](const Architecture& model) { return fact_of(of(model)); },
      .words = [](const Architecture& model) { return words_of(of(model)); },
      .from_hub = from_hub,
      .to_hub = [](const Architecture& model,
                   std::string_view dtype) { return to_hub(of(model), dtype); },
      .probe = probe};
  return kFamily;
}

int64_t padded_vocabulary(const Gpt2& model) { return padded_rows(model.vocabulary); }

int64_t parameter_count(const Gpt2& model) {
  const int64_t width = model.width;
  const int64_t block = 12 * width * width + 13 * width;
  return (model.vocabulary + model.positions + 2) * width + model.layers * block;
}

graph::Graph gpt2_decode(const Gpt2& model, const graph::Chunk& chunk, Dtype compute) {
  check(model);
  require_context(chunk.context, model.positions);
  GraphBuilder out(chunk, compute);
  Builder builder{model, out, 0.0f};
  const Trunk trunk = builder.trunk();
  graph::logits(out, trunk.last, trunk.table, model.vocabulary);
  return out.finish();
}

double flops_per_token(const Gpt2& model, int64_t length) {
  return 6.0 * double(parameter_count(model)) +
         6.0 * double(model.layers) * double(model.width) * double(length);
}

}  // namespace zero::model
