#include <algorithm>
#include <initializer_list>

#include "src/model/blenderbot.hpp"
#include "src/model/shared_by_families.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

constexpr int64_t kPad = 0, kStart = 1, kEnd = 2;
constexpr double kUsualDropout = 0.1;  // default of the class in Transformers
constexpr std::string_view kBias = "final_logits_bias";

Blenderbot of(const Architecture& model) {
  const ModelNumbers& numbers = model.numbers;
  return {.layers = numbers.count("layers"),
          .decoder_layers = numbers.count("decoder_layers"),
          .width = numbers.count("width"),
          .heads = numbers.count("heads"),
          .inner = numbers.count("inner"),
          .decoder_inner = numbers.count("decoder_inner"),
          .vocabulary = numbers.count("vocab_size"),
          .positions = numbers.count("max_positions"),
          .dropout = float(numbers.rate("dropout")),
          .smoothing = float(numbers.rate("label_smoothing")),
          .epsilon = float(numbers.rate("epsilon"))};
}

std::string numbers_of(const Blenderbot& model) {
  return text(model.layers, " + ", model.decoder_layers, " layers of ", model.width, " with ",
              counted(model.heads, "head"), ", inner ", model.inner, " and ", model.decoder_inner,
              ", ", model.vocabulary, " tokens, ", counted(model.positions, "position"));
}

/// Refuses a network that blenderbot() does not build. The class defaults to another size, so files
/// must write every number. The hub's files hold keys that the class does not read.
void require_same_network(const HubConfig& config) {
  if (config.word_or("activation_function", "gelu") != "gelu") {
    config.fail("activation_function", "only \"gelu\"");
  }
  if (!config.flag_or("scale_embedding", false)) config.fail("scale_embedding", "only true");
  for (const char* key : {"normalize_before", "add_final_layer_norm", "tie_word_embeddings"}) {
    config.require(key, true);
  }
  for (const char* key :
       {"normalize_embedding", "static_position_embeddings", "extra_layer_norm"}) {
    config.require(key, false);
  }
  config.require_id("pad_token_id", kPad);
  config.require_id("bos_token_id", kStart);
  config.require_id("eos_token_id", kEnd);
  config.require_id("decoder_start_token_id", kStart);
}

ModelNumbers from_hub(const HubConfig& config) {
  const Blenderbot model{.layers = config.count("encoder_layers", 10'000),
                         .decoder_layers = config.count("decoder_layers", 10'000),
                         .width = config.count("d_model", 1'000'000),
                         .heads = config.count("encoder_attention_heads", 1'000'000),
                         .inner = config.count("encoder_ffn_dim", 100'000'000),
                         .decoder_inner = config.count("decoder_ffn_dim", 100'000'000),
                         .vocabulary = config.count("vocab_size", 100'000'000),
                         .positions = config.count("max_position_embeddings", 100'000'000),
                         .dropout = config.share_or("dropout", kUsualDropout)};
  if (config.count("decoder_attention_heads", 1'000'000) != model.heads) {
    config.fail("decoder_attention_heads", "only as many as encoder_attention_heads");
  }
  if (model.width % model.heads != 0) {
    config.fail("encoder_attention_heads", "a divisor of d_model");
  }
  require_same_network(config);
  return Architecture(model).numbers;
}

std::vector<HubEntry> to_hub(const Blenderbot& model, std::string_view dtype) {
  return {{"architectures", R"(["BlenderbotForConditionalGeneration"])"},
          {"model_type", R"("blenderbot")"},
          {"is_encoder_decoder", "true"},
          {"encoder_layers", text(model.layers)},
          {"decoder_layers", text(model.decoder_layers)},
          {"d_model", text(model.width)},
          {"encoder_attention_heads", text(model.heads)},
          {"decoder_attention_heads", text(model.heads)},
          {"encoder_ffn_dim", text(model.inner)},
          {"decoder_ffn_dim", text(model.decoder_inner)},
          {"vocab_size", text(model.vocabulary)},
          {"max_position_embeddings", text(model.positions)},
          {"activation_function", R"("gelu")"},
          {"scale_embedding", "true"},
          {"normalize_before", "true"},
          {"add_final_layer_norm", "true"},
          {"tie_word_embeddings", "true"},
          {"pad_token_id", text(kPad)},
          {"bos_token_id", text(kStart)},
          {"eos_token_id", text(kEnd)},
          {"decoder_start_token_id", text(kStart)},
          {"torch_dtype", text('"', dtype, '"')},
          {"attention_dropout", "0.0"},
          {"activation_dropout", "0.0"},
          {"dropout", text(model.dropout)}};
}

/// Returns the form in Hugging Face's files: queries, keys and values are separate tensors, weights
/// of Linear layers are transposed, and final_logits_bias is one row.
StoredForm stored_form_of(const Architecture&, std::string_view parameter) {
  const std::string name(parameter);
  if (name == kBias) return {.names = {name}, .one_row = true};
  const bool bias = name.ends_with(".bias");
  const std::string end = bias ? ".bias" : ".weight";
  const std::vector<std::string> parts = unpacked(name, "_proj" + end);
  if (!parts.empty()) return {.names = parts, .transposed = !bias};
  const bool linear = std::ranges::any_of(
      std::initializer_list<std::string_view>{".q_proj", ".out_proj", ".fc1", ".fc2"},
      [&](std::string_view layer) { return name.ends_with(text(layer, ".weight")); });
  return {.names = {name}, .transposed = linear};
}

std::string long_texts(const RunConfig& config) {
  const int64_t length = longest_text(config);
  const int64_t positions = model_numbers(config).count("max_positions");
  if (length <= positions) return "";
  return text("texts of ", counted(length, "token"), " in a model of ",
              counted(positions, "position"), "; write lengths of ", positions, " or less");
}

std::vector<Rule> rules() {
  const std::vector<std::string> tiny = {"model.name = \"\"", "model.family = \"blenderbot\"",
                                         "model.layers = 2", "model.heads = 4"};
  std::vector<std::string> uneven = tiny;
  uneven.push_back("model.width = 30");
  return {
      {.keys = {"model.heads", "model.width"}, .broken = uneven_heads, .example = uneven},
      {.keys = {"data.source_length", "data.sequence_length", "model.max_positions", "model.name"},
       .broken = long_texts,
       .example = {"model.name = \"blenderbot-400M-distill\"", "data.sequence_length = 256"}}};
}

/// Returns the keys of [model], with the public checkpoints' sizes.
ModelFamily settings() {
  const Range count{.low = 1, .high = 1 << 20, .automatic = true};
  const Range layers{.low = 1, .high = 10000, .automatic = true};
  const auto as_wide = [](const RunConfig& config) {
    const int64_t written = config.model.numbers.count("inner");
    return written > 0 ? written : four_widths(config);
  };
  return {.name = "blenderbot",
          .example_input = "",
          .counts = {{"layers", layers},
                     {"decoder_layers", layers, encoder_layers, "model.layers"},
                     {"width", count},
                     {"heads", {.low = 1, .high = 1 << 14, .automatic = true}},
                     {"inner", count, four_widths, "model.width"},
                     {"decoder_inner", count, as_wide, "model.inner"},
                     {"vocab_size",
                      {.low = 2, .high = 1 << 24, .automatic = true},
                      [](const RunConfig&) -> int64_t { return 256; }},
                     {"max_positions",
                      {.low = 1, .high = 1 << 24, .automatic = true},
                      longest_text,
                      "data.sequence_length"}},
          .rates = {{"dropout", {.high = 1, .below_high = true}, 0.1},
                    {"label_smoothing", {.high = 1, .below_high = true}, 0}},
          .sizes = {{"blenderbot-400M-distill", {2, 12, 1280, 32, 5120, 5120, 8008, 128}},
                    {"blenderbot-1B-distill", {2, 12, 2560, 32, 10240, 10240, 8008, 128}},
                    {"blenderbot-3B", {2, 24, 2560, 32, 10240, 10240, 8008, 128}}},
          .rules = rules(),
          .blocks = {"layers", "decoder_layers"}};
}

Probe probe(ProbeSize size) {
  Blenderbot model{.layers = 1,
                   .decoder_layers = 1,
                   .width = 640,
                   .heads = 16,
                   .inner = 2560,
                   .decoder_inner = 2560,
                   .vocabulary = 4096,
                   .positions = 128};
  if (size != ProbeSize::device) return {model, {.samples = 2, .length = 128}};
  model.width *= 2;
  model.heads *= 2;
  model.inner = model.decoder_inner = 5120;
  return {model, {.samples = 16, .length = 128}};
}

}  // namespace

Blenderbot::operator Architecture() const {
  return {
      .family = &blenderbot_family(),
      .numbers = {
          .counts = {{"layers", layers},
                     {"decoder_layers", decoder_layers},
                     {"width", width},
                     {"heads", heads},
                     {"inner", inner},
                     {"decoder_inner", decoder_inner},
                     {"vocab_size", vocabulary},
                     {"max_positions", positions}},
          .rates = {{"dropout", dropout}, {"label_smoothing", smoothing}, {"epsilon", epsilon}}}};
}

const Family& blenderbot_family() {
  constexpr std::string_view kWhy = "both stacks and the head read the same table of tokens";
  static const Family kFamily{
      .settings = settings(),
      .constants = {{"epsilon", 1e-5}},
      .title = "BlenderBot",
      .hub_type = "blenderbot",
      .hub_class = "BlenderbotForConditionalGeneration",
      .stored = {.prefix = "",
                 .copies = {{"model.encoder.embed_tokens.weight", "model.shared.weight", kWhy},
                            {"model.decoder.embed_tokens.weight", "model.shared.weight", kWhy},
                            {"lm_head.weight", "model.shared.weight", kWhy}},
                 .ends = {},
                 .form = stored_form_of,
                 .other_heads = {"lm_head."}},
      .dropouts = {{"dropout", kUsualDropout},
                   {"attention_dropout", 0, false},
                   {"activation_dropout", 0, false},
                   {"encoder_layerdrop", 0, false},
                   {"decoder_layerdrop", 0, false}},
      .objectives = {"pairs", "spans"},
      // Sources: the chat template of Transformers' BlenderbotTokenizer; ParlAI's
      // blended_skill_talk, whose lines of a persona begin like this.
      .talk = {.persona = "your persona: ", .said = " "},
      .trunk =
          [](graph::GraphBuilder& out, const Architecture& model, const ForwardOptions& options) {
            return blenderbot_trunk(out, of(model), options);
          },
      .head =
          [](graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
             const ForwardOptions& options) { blenderbot_head(out, of(model), trunk, options); },
      .decode = [](const Architecture& model, const graph::Chunk& chunk,
                   Dtype compute) { return blenderbot_decode(of(model), chunk, compute); },
      .parameter_count = [](const Architecture& model) { return parameter_count(of(model)); },
      .flops_per_token =
          [](const Architecture& model, const graph::MicroBatch& micro) {
            return flops_per_target(of(model), micro);
          },
      .data_form = [](const Architecture& model) -> DataForm {
        return {.vocabulary = of(model).vocabulary,
                .positions = of(model).positions,
                .ids = {.pad = kPad, .end = kEnd, .start = kStart}};
      },
      .fact = [](const Architecture& model) { return "blenderbot of " + numbers_of(of(model)); },
      .words =
          [](const Architecture& model) {
            return text(numbers_of(of(model)), ", epsilon ", of(model).epsilon);
          },
      .from_hub = from_hub,
      .to_hub = [](const Architecture& model,
                   std::string_view dtype) { return to_hub(of(model), dtype); },
      .probe = probe};
  return kFamily;
}

}  // namespace zero::model
