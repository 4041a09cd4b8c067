#include <algorithm>
#include <initializer_list>

#include "src/model/shared_by_families.hpp"
#include "src/model/t5.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

constexpr int64_t kPlain = 1, kWithGate = 2;  // values of model.feed_forward
// Values of model.classifier: tied to the table of tokens or not. "Unscaled" and "scaled" reverse
// the usual scaling of its input.
constexpr int64_t kTied = 1, kUntied = 2, kTiedUnscaled = 3, kUntiedScaled = 4;
constexpr int64_t kPad = 0, kEnd = 1;  // a decoder begins with padding
constexpr double kUsualDropout = 0.1;  // default of the class in Transformers

constexpr std::string_view kEncoderTable = "encoder.embed_tokens.weight";
constexpr std::string_view kDecoderTable = "decoder.embed_tokens.weight";
constexpr std::string_view kHead = "lm_head.weight";

constexpr int64_t kMostBuckets = 128;  // limit of relative_bias()

bool is_tied(int64_t classifier) { return classifier == kTied || classifier == kTiedUnscaled; }

int64_t classifier_of(const T5& model) {
  if (model.scales_otherwise) return model.tied ? kTiedUnscaled : kUntiedScaled;
  return model.tied ? kTied : kUntied;
}

T5 of(const Architecture& model) {
  const ModelNumbers& numbers = model.numbers;
  return {.layers = numbers.count("layers"),
          .decoder_layers = numbers.count("decoder_layers"),
          .width = numbers.count("width"),
          .heads = numbers.count("heads"),
          .head_width = numbers.count("head_width"),
          .inner = numbers.count("inner"),
          .vocabulary = numbers.count("vocab_size"),
          .buckets = numbers.count("relative_buckets"),
          .distance = numbers.count("relative_distance"),
          .gated = numbers.count("feed_forward") == kWithGate,
          .tied = is_tied(numbers.count("classifier")),
          .scales_otherwise = numbers.count("classifier") > kUntied,
          .dropout = float(numbers.rate("dropout")),
          .smoothing = float(numbers.rate("label_smoothing")),
          .epsilon = float(numbers.rate("epsilon"))};
}

std::string numbers_of(const T5& model) {
  return text(model.layers, " + ", model.decoder_layers, " layers of ", model.width, " with ",
              counted(model.heads, "head"), " of ", model.head_width, ", inner ", model.inner, ", ",
              model.vocabulary, " tokens, ", model.buckets, " buckets to ", model.distance, ", ",
              model.gated ? "gated GELU" : "ReLU", ", ", model.tied ? "tied" : "untied",
              model.scales_otherwise ? model.tied ? " unscaled" : " scaled" : "", " classifier");
}

/// Reads config.json. Keys with their usual value may be missing. Transformers 5 calls the tables
/// of every T5 tied, and a key of its own says if the classifier's input is scaled. Transformers 4
/// scales the input of a tied classifier only.
ModelNumbers from_hub(const HubConfig& config) {
  const std::string activation = config.word_or("feed_forward_proj", "relu");
  if (activation != "relu" && activation != "gated-gelu") {
    config.fail("feed_forward_proj", "only \"relu\" or \"gated-gelu\"");
  }
  config.require_id("pad_token_id", kPad);
  config.require_id("eos_token_id", kEnd);
  config.require_id("decoder_start_token_id", kPad);
  const int64_t layers = config.count("num_layers", 10'000);
  const bool tied = config.flag_or("tie_word_embeddings", true);
  const T5 model{.layers = layers,
                 .decoder_layers = config.count_or("num_decoder_layers", 10'000, layers),
                 .width = config.count("d_model", 1'000'000),
                 .heads = config.count("num_heads", 1'000'000),
                 .head_width = config.count("d_kv", 1'000'000),
                 .inner = config.count("d_ff", 100'000'000),
                 .vocabulary = config.count("vocab_size", 100'000'000),
                 .buckets = config.count("relative_attention_num_buckets", kMostBuckets),
                 .distance = config.count_or("relative_attention_max_distance", 100'000'000, 128),
                 .gated = activation == "gated-gelu",
                 .tied = tied,
                 .scales_otherwise = config.flag_or("scale_decoder_outputs", tied) != tied,
                 .dropout = config.share_or("dropout_rate", kUsualDropout),
                 .epsilon = config.epsilon_or("layer_norm_epsilon", 1e-6)};
  if (model.buckets % 4 != 0) config.fail("relative_attention_num_buckets", "a multiple of 4");
  if (model.distance <= model.buckets / 2) {
    config.fail("relative_attention_max_distance", "more than half the buckets");
  }
  return Architecture(model).numbers;
}

/// Unties a head that files store beside the table of tokens. Transformers 5 may call it tied.
void settle(ModelNumbers& numbers, const Stores& stores) {
  int64_t& classifier = numbers.counts.find("classifier")->second;
  const bool has_table = stores("shared.weight") || stores(kEncoderTable) || stores(kDecoderTable);
  if (classifier == kTiedUnscaled && has_table && stores(kHead)) classifier = kUntied;
}

std::vector<HubEntry> to_hub(const T5& model, std::string_view dtype) {
  std::vector<HubEntry> entries = {
      {"architectures", R"(["T5ForConditionalGeneration"])"},
      {"model_type", R"("t5")"},
      {"is_encoder_decoder", "true"},
      {"num_layers", text(model.layers)},
      {"num_decoder_layers", text(model.decoder_layers)},
      {"d_model", text(model.width)},
      {"num_heads", text(model.heads)},
      {"d_kv", text(model.head_width)},
      {"d_ff", text(model.inner)},
      {"vocab_size", text(model.vocabulary)},
      {"relative_attention_num_buckets", text(model.buckets)},
      {"relative_attention_max_distance", text(model.distance)},
      {"feed_forward_proj", model.gated ? R"("gated-gelu")" : R"("relu")"},
      {"tie_word_embeddings", model.tied ? "true" : "false"},
      {"pad_token_id", text(kPad)},
      {"eos_token_id", text(kEnd)},
      {"decoder_start_token_id", text(kPad)},
      {"torch_dtype", text('"', dtype, '"')},
      {"layer_norm_epsilon", text(model.epsilon)},
      {"dropout_rate", text(model.dropout)}};
  const bool is_scaled = model.tied != model.scales_otherwise;
  if (model.scales_otherwise)
    entries.push_back({"scale_decoder_outputs", is_scaled ? "true" : "false"});
  return entries;
}

/// Returns the form in Hugging Face's files: queries, keys and values are separate tensors, and
/// weights of Linear layers are transposed. Tables and norms are unchanged.
StoredForm stored_form_of(const Architecture&, std::string_view parameter) {
  constexpr std::string_view kWeight = ".weight";
  const std::string name(parameter);
  const std::vector<std::string> parts = unpacked(name, kWeight);
  if (!parts.empty()) return {.names = parts, .transposed = true};
  const bool linear = std::ranges::any_of(
      std::initializer_list<std::string_view>{".q", ".o", ".wi", ".wi_0", ".wi_1", ".wo"},
      [&](std::string_view layer) { return name.ends_with(text(layer, kWeight)); });
  return {.names = {name}, .transposed = linear};
}

std::string uneven_buckets(const RunConfig& config) {
  const ModelNumbers numbers = model_numbers(config);
  const int64_t buckets = numbers.count("relative_buckets");
  const int64_t distance = numbers.count("relative_distance");
  if (buckets % 4 != 0) {
    return text(counted(buckets, "bucket"),
                " do not part into four; write relative_buckets = ", round_up<int64_t>(buckets, 4));
  }
  if (distance > buckets / 2) return "";
  return text("half of ", counted(buckets, "bucket"), " are for single distances; write ",
              "relative_distance = ", buckets / 2 + 1, " or more");
}

constexpr int64_t kVocabulary = 32128;

std::vector<ModelSize> sizes() {
  const auto size = [](std::string_view name, int64_t layers, int64_t width, int64_t heads,
                       int64_t head_width, int64_t inner) -> ModelSize {
    return {name, {layers, layers, width, heads, head_width, inner, kVocabulary, 32, 128, 1, 1}};
  };
  const auto gated = [](std::string_view name, int64_t layers, int64_t width, int64_t heads,
                        int64_t inner) -> ModelSize {
    return {name, {layers, layers, width, heads, 64, inner, kVocabulary, 32, 128, 2, 2}};
  };
  return {size("t5-small", 6, 512, 8, 64, 2048),     gated("t5-v1_1-small", 8, 512, 6, 1024),
          size("t5-base", 12, 768, 12, 64, 3072),    gated("t5-v1_1-base", 12, 768, 12, 2048),
          size("t5-large", 24, 1024, 16, 64, 4096),  gated("t5-v1_1-large", 24, 1024, 16, 2816),
          size("t5-3b", 24, 1024, 32, 128, 16384),   gated("t5-v1_1-xl", 24, 2048, 32, 5120),
          size("t5-11b", 24, 1024, 128, 128, 65536), gated("t5-v1_1-xxl", 24, 4096, 64, 10240)};
}

std::vector<Rule> rules() {
  return {{.keys = {"model.relative_buckets", "model.relative_distance", "model.name"},
           .broken = uneven_buckets,
           .example = {"model.name = \"\"", "model.family = \"t5\"", "model.layers = 2",
                       "model.width = 32", "model.heads = 2", "model.relative_buckets = 6"}}};
}

/// Returns the keys of [model], with the public checkpoints' sizes. FLAN-T5 has those of 1.1.
ModelFamily settings() {
  const Range count{.low = 1, .high = 1 << 20, .automatic = true};
  const auto first = [](const RunConfig&) -> int64_t { return 1; };
  return {.name = "t5",
          .example_input = "",
          .counts =
              {{"layers", {.low = 1, .high = 10000, .automatic = true}},
               {"decoder_layers",
                {.low = 1, .high = 10000, .automatic = true},
                encoder_layers,
                "model.layers"},
               {"width", count},
               {"heads", {.low = 1, .high = 1 << 14, .automatic = true}},
               {"head_width", count, [](const RunConfig&) -> int64_t { return 64; }},
               {"inner", count, four_widths, "model.width"},
               {"vocab_size",
                {.low = 2, .high = 1 << 24, .automatic = true},
                [](const RunConfig&) -> int64_t { return 256; }},
               {"relative_buckets",
                {.low = 4, .high = kMostBuckets, .automatic = true},
                [](const RunConfig&) -> int64_t { return 32; }},
               {"relative_distance", count, [](const RunConfig&) -> int64_t { return 128; }},
               {"feed_forward", {}, first, {}, {"relu", "gated-gelu"}},
               {"classifier", {}, first, {}, {"tied", "untied", "tied-unscaled", "untied-scaled"}}},
          .rates = {{"dropout", {.high = 1, .below_high = true}, 0.1},
                    {"label_smoothing", {.high = 1, .below_high = true}, 0}},
          .sizes = sizes(),
          .rules = rules(),
          .blocks = {"layers", "decoder_layers"}};
}

Probe probe(ProbeSize size) {
  T5 model{.layers = 1,
           .decoder_layers = 1,
           .width = 512,
           .heads = 8,
           .head_width = 64,
           .inner = 2048,
           .vocabulary = 4096};
  if (size != ProbeSize::device) return {model, {.samples = 2, .length = 128}};
  model.width = model.inner / 2;
  model.heads = 16;
  model.inner *= 2;
  return {model, {.samples = 16, .length = 128}};
}

}  // namespace

T5::operator Architecture() const {
  return {
      .family = &t5_family(),
      .numbers = {
          .counts = {{"layers", layers},
                     {"decoder_layers", decoder_layers},
                     {"width", width},
                     {"heads", heads},
                     {"head_width", head_width},
                     {"inner", inner},
                     {"vocab_size", vocabulary},
                     {"relative_buckets", buckets},
                     {"relative_distance", distance},
                     {"feed_forward", gated ? kWithGate : kPlain},
                     {"classifier", classifier_of(*this)}},
          .rates = {{"dropout", dropout}, {"label_smoothing", smoothing}, {"epsilon", epsilon}}}};
}

const Family& t5_family() {
  constexpr std::string_view kWhy = "both stacks and a tied head read the same table of tokens";
  static const Family kFamily{
      .settings = settings(),
      .constants = {{"epsilon", 1e-6}},
      .title = "T5",
      .hub_type = "t5",
      .hub_class = "T5ForConditionalGeneration",
      .stored = {.prefix = "",
                 .copies = {{kEncoderTable, "shared.weight", kWhy},
                            {kDecoderTable, "shared.weight", kWhy},
                            {kHead, "shared.weight", kWhy}},
                 // The first T5 checkpoints hold a table that their network lacks.
                 .ends = {".EncDecAttention.relative_attention_bias.weight"},
                 .form = stored_form_of,
                 .other_heads = {"lm_head.", "classification_head.", "classifier.", "qa_outputs.",
                                 "v_head."}},
      .dropouts = {{"dropout_rate", kUsualDropout}},
      .objectives = {"pairs", "spans"},
      .trunk = [](graph::GraphBuilder& out, const Architecture& model,
                  const ForwardOptions& options) { return t5_trunk(out, of(model), options); },
      .head = [](graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                 const ForwardOptions& options) { t5_head(out, of(model), trunk, options); },
      .decode = [](const Architecture& model, const graph::Chunk& chunk,
                   Dtype compute) { return t5_decode(of(model), chunk, compute); },
      .parameter_count = [](const Architecture& model) { return parameter_count(of(model)); },
      .flops_per_token =
          [](const Architecture& model, const graph::MicroBatch& micro) {
            return flops_per_target(of(model), micro);
          },
      .data_form = [](const Architecture& model) -> DataForm {
        return {.vocabulary = of(model).vocabulary,
                .positions = kAnyLength,
                .ids = {.pad = kPad, .end = kEnd, .start = kPad}};
      },
      .fact = [](const Architecture& model) { return "t5 of " + numbers_of(of(model)); },
      .words =
          [](const Architecture& model) {
            return text(numbers_of(of(model)), ", epsilon ", of(model).epsilon);
          },
      .from_hub = from_hub,
      .settle = settle,
      .to_hub = [](const Architecture& model,
                   std::string_view dtype) { return to_hub(of(model), dtype); },
      .probe = probe};
  return kFamily;
}

}  // namespace zero::model
