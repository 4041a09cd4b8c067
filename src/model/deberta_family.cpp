#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "src/model/deberta.hpp"
#include "src/model/shared_by_families.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

constexpr int64_t kPad = 0;
constexpr double kUsualDropout = 0.1;            // default of the class in Transformers
constexpr int64_t kPlain = 1, kConvolution = 2;  // values of model.convolution
constexpr int64_t kMostBuckets = 1 << 15;        // limit of disentangled_attention()
constexpr int64_t kUsualLabels = 2;
constexpr int64_t kMostLabels = 10'000;  // that a config.json is read with

Deberta of(const Architecture& model) {
  const ModelNumbers& numbers = model.numbers;
  return {.layers = numbers.count("layers"),
          .width = numbers.count("width"),
          .heads = numbers.count("heads"),
          .inner = numbers.count("inner"),
          .vocabulary = numbers.count("vocab_size"),
          .buckets = numbers.count("position_buckets"),
          .distance = numbers.count("relative_distance"),
          .convolves = numbers.count("convolution") == kConvolution,
          .labels = numbers.count("labels"),
          .dropout = float(numbers.rate("dropout")),
          .epsilon = float(numbers.rate("epsilon"))};
}

std::string numbers_of(const Deberta& model) {
  return text(counted(model.layers, "layer"), " of ", model.width, " with ",
              counted(model.heads, "head"), ", inner ", model.inner, ", ", model.vocabulary,
              " tokens, ", model.buckets, " buckets to ", model.distance,
              model.convolves ? ", a convolution, " : ", ", counted(model.labels, "label"));
}

void require_word(const HubConfig& config, const char* key, const char* usual, const char* wanted) {
  if (config.word_or(key, usual) != wanted) config.fail(key, text("only \"", wanted, '"'));
}

/// Returns the parts of the words of a key, as Transformers parts them: "p2c|c2p".
std::vector<std::string> parts_of(const HubConfig& config, const char* key) {
  std::vector<std::string> parts;
  for (const std::string& word : config.words(key)) {
    parts.emplace_back();
    for (const char c : word) {
      if (c == '|')
        parts.emplace_back();
      else if (c != ' ')
        parts.back() += char(std::tolower(uint8_t(c)));
    }
  }
  std::ranges::sort(parts);
  return parts;
}

/// Refuses another network. The class has absolute positions and no relative ones where keys are
/// missing, so files must write most of them.
void require_same_network(const HubConfig& config, const Deberta& model) {
  require_word(config, "hidden_act", "gelu", "gelu");
  require_word(config, "pooler_hidden_act", "gelu", "gelu");
  require_word(config, "norm_rel_ebd", "none", "layer_norm");
  for (const char* key : {"relative_attention", "share_att_key"})
    if (!config.flag_or(key, false)) config.fail(key, "only true");
  if (config.flag_or("position_biased_input", true))
    config.fail("position_biased_input", "only false");
  if (parts_of(config, "pos_att_type") != std::vector<std::string>{"c2p", "p2c"})
    config.fail("pos_att_type", "only \"p2c|c2p\" or the list of both");
  for (const char* key : {"type_vocab_size", "z_steps"})
    if (config.whole_or(key, 0) != 0) config.fail(key, "only 0");
  for (const char* key : {"embedding_size", "pooler_hidden_size"})
    if (config.whole_or(key, model.width) != model.width)
      config.fail(key, text("only hidden_size = ", model.width));
  const int64_t head = model.width / model.heads;
  if (config.whole_or("attention_head_size", head) != head)
    config.fail("attention_head_size", text("only hidden_size / num_attention_heads = ", head));
  for (const char* key : {"is_decoder", "add_cross_attention"}) config.require(key, false);
  config.require_id("pad_token_id", kPad);
}

bool convolves(const HubConfig& config) {
  const int64_t places = config.whole_or("conv_kernel_size", 0);
  if (places <= 0) return false;
  if (places != 3) config.fail("conv_kernel_size", "only 3, or 0 for none");
  if (config.whole_or("conv_groups", 1) != 1) config.fail("conv_groups", "only 1");
  require_word(config, "conv_act", "tanh", "gelu");
  return true;
}

/// Returns the distance that the table ends with, as Transformers finds it.
int64_t distance_of(const HubConfig& config) {
  const int64_t own = config.whole_or("max_relative_positions", -1);
  return own < 1 ? config.count_or("max_position_embeddings", 1 << 20, 512)
                 : config.count("max_relative_positions", 1 << 20);
}

int64_t labels_of(const HubConfig& config) {
  const auto names = int64_t(config.numbered_words("id2label").size());
  const int64_t labels =
      config.count_or("num_labels", kMostLabels, names > 0 ? names : kUsualLabels);
  if (names > 0 && labels != names)
    config.fail("num_labels", text("only ", names, ", as many as id2label has names,"));
  const std::string wanted = labels == 1 ? "regression" : "single_label_classification";
  require_word(config, "problem_type", wanted.c_str(), wanted.c_str());
  return labels;
}

ModelNumbers from_hub(const HubConfig& config) {
  const Deberta model{.layers = config.count("num_hidden_layers", 10'000),
                      .width = config.count("hidden_size", 1'000'000),
                      .heads = config.count("num_attention_heads", 1'000'000),
                      .inner = config.count("intermediate_size", 100'000'000),
                      .vocabulary = config.count("vocab_size", 100'000'000),
                      .buckets = config.count("position_buckets", kMostBuckets),
                      .distance = distance_of(config),
                      .convolves = convolves(config),
                      .labels = labels_of(config),
                      .dropout = config.share_or("hidden_dropout_prob", kUsualDropout),
                      .epsilon = config.epsilon_or("layer_norm_eps", 1e-7)};
  if (model.width % model.heads != 0)
    config.fail("num_attention_heads", "a divisor of hidden_size");
  if (model.buckets < 2 || model.distance < least_distance(model.buckets))
    config.fail("position_buckets", "2 or more, and half of them below max_relative_positions - 1");
  require_same_network(config, model);
  return Architecture(model).numbers;
}

/// Returns the names that Transformers gives to classes without names.
std::string label_names(int64_t labels, bool by_name) {
  std::string json;
  for (int64_t i = 0; i < labels; ++i) {
    const std::string name = text("\"LABEL_", i, '"'),
                      number = by_name ? text(i) : text('"', i, '"');
    json += text(i == 0 ? "{" : ", ", by_name ? name : number, ": ", by_name ? number : name);
  }
  return json + "}";
}

std::vector<HubEntry> to_hub(const Deberta& model, std::string_view dtype) {
  std::vector<HubEntry> entries = {{"architectures", R"(["DebertaV2ForSequenceClassification"])"},
                                   {"model_type", R"("deberta-v2")"},
                                   {"num_hidden_layers", text(model.layers)},
                                   {"hidden_size", text(model.width)},
                                   {"num_attention_heads", text(model.heads)},
                                   {"intermediate_size", text(model.inner)},
                                   {"vocab_size", text(model.vocabulary)},
                                   {"hidden_act", R"("gelu")"},
                                   {"relative_attention", "true"},
                                   {"position_buckets", text(model.buckets)},
                                   {"max_position_embeddings", text(model.distance)},
                                   {"max_relative_positions", "-1"},
                                   {"pos_att_type", R"(["p2c", "c2p"])"},
                                   {"share_att_key", "true"},
                                   {"norm_rel_ebd", R"("layer_norm")"},
                                   {"position_biased_input", "false"},
                                   {"type_vocab_size", "0"},
                                   {"pooler_hidden_act", R"("gelu")"},
                                   {"pooler_hidden_size", text(model.width)},
                                   {"pad_token_id", text(kPad)},
                                   {"torch_dtype", text('"', dtype, '"')},
                                   {"layer_norm_eps", text(model.epsilon)},
                                   {"hidden_dropout_prob", text(model.dropout)},
                                   {"attention_probs_dropout_prob", text(model.dropout)},
                                   {"pooler_dropout", "0.0"},
                                   {"id2label", label_names(model.labels, false)},
                                   {"label2id", label_names(model.labels, true)}};
  if (model.convolves) {
    entries.push_back({"conv_kernel_size", "3"});
    entries.push_back({"conv_act", R"("gelu")"});
  }
  return entries;
}

/// Returns the form in Hugging Face's files: weights of Linear layers are transposed, and the
/// convolution's has its places last.
StoredForm stored_form_of(const Architecture&, std::string_view parameter) {
  const std::string name(parameter);
  if (name == "encoder.conv.conv.weight") return {.names = {name}, .places = 3};
  const bool linear = std::ranges::any_of(
      std::initializer_list<std::string_view>{"_proj.weight", "dense.weight", "classifier.weight"},
      [&](std::string_view end) { return name.ends_with(end); });
  return {.names = {name}, .transposed = linear};
}

std::string near_distance(const RunConfig& config) {
  const ModelNumbers numbers = model_numbers(config);
  const int64_t least = least_distance(numbers.count("position_buckets"));
  if (numbers.count("relative_distance") >= least) return "";
  return text("half of ", counted(numbers.count("position_buckets"), "bucket"),
              " are for single distances; write relative_distance = ", least, " or more");
}

std::vector<Rule> rules() {
  const std::vector<std::string> small = {"model.name = \"\"", "model.family = \"deberta\"",
                                          "model.layers = 2", "model.heads = 4"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> lines = small;
    lines.insert(lines.end(), more);
    return lines;
  };
  return {{.keys = {"model.heads", "model.width", "model.name"},
           .broken = uneven_heads,
           .example = with({"model.width = 30"})},
          {.keys = {"model.position_buckets", "model.relative_distance", "model.name"},
           .broken = near_distance,
           .example = with({"model.width = 32", "model.relative_distance = 9"})}};
}

/// Returns sizes with the numbers of Microsoft's own configuration files.
std::vector<ModelSize> sizes() {
  constexpr int64_t kVocabulary = 128100;
  const auto size = [](std::string_view name, int64_t layers, int64_t width, int64_t heads,
                       int64_t convolution) -> ModelSize {
    return {name, {layers, width, heads, 4 * width, kVocabulary, 256, 512, convolution}};
  };
  return {size("deberta-v3-xsmall", 12, 384, 6, kPlain),
          size("deberta-v3-small", 6, 768, 12, kPlain),
          size("deberta-v3-base", 12, 768, 12, kPlain),
          size("deberta-v3-large", 24, 1024, 16, kPlain),
          size("deberta-v2-xlarge", 24, 1536, 24, kConvolution),
          size("deberta-v2-xlarge-mnli", 24, 1536, 24, kConvolution),
          size("deberta-v2-xxlarge", 48, 1536, 24, kConvolution)};
}

ModelFamily settings() {
  const Range count{.low = 1, .high = 1 << 20, .automatic = true};
  const auto first = [](const RunConfig&) -> int64_t { return 1; };
  return {
      .name = "deberta",
      .example_input = "",
      .counts = {{"layers", {.low = 1, .high = 10000, .automatic = true}},
                 {"width", count},
                 {"heads", {.low = 1, .high = 1 << 14, .automatic = true}},
                 {"inner", count, four_widths, "model.width"},
                 {"vocab_size",
                  {.low = 2, .high = 1 << 24, .automatic = true},
                  [](const RunConfig&) -> int64_t { return 256; }},
                 {"position_buckets",
                  {.low = 2, .high = kMostBuckets, .automatic = true},
                  [](const RunConfig&) -> int64_t { return 256; }},
                 {"relative_distance", count, [](const RunConfig&) -> int64_t { return 512; }},
                 {"convolution", {}, first, {}, {"none", "gelu"}},
                 {.name = "labels",
                  .range = {.low = 1, .high = kMostLabels, .automatic = true},
                  .otherwise = [](const RunConfig&) -> int64_t { return kUsualLabels; },
                  .by_task =
                      [](const RunConfig& config) { return int64_t(config.data.labels.size()); }}},
      .rates = {{"dropout", {.high = 1, .below_high = true}, kUsualDropout}},
      .sizes = sizes(),
      .rules = rules(),
      .blocks = {"layers"}};
}

Probe probe(ProbeSize size) {
  Deberta model{.layers = 1, .width = 768, .heads = 12, .inner = 3072, .vocabulary = 4096};
  if (size != ProbeSize::device) return {model, {.samples = 2, .length = 128}};
  model.width = 1536;
  model.heads = 24;
  model.inner = 6144;
  return {model, {.samples = 16, .length = 128}};
}

}  // namespace

Deberta::operator Architecture() const {
  return {.family = &deberta_family(),
          .numbers = {.counts = {{"layers", layers},
                                 {"width", width},
                                 {"heads", heads},
                                 {"inner", inner},
                                 {"vocab_size", vocabulary},
                                 {"position_buckets", buckets},
                                 {"relative_distance", distance},
                                 {"convolution", convolves ? kConvolution : kPlain},
                                 {"labels", labels}},
                      .rates = {{"dropout", dropout}, {"epsilon", epsilon}}}};
}

const Family& deberta_family() {
  static const Family kFamily{
      .settings = settings(),
      .constants = {{"epsilon", 1e-7}},
      .title = "DeBERTa",
      .hub_type = "deberta-v2",
      .hub_class = "DebertaV2ForSequenceClassification",
      .stored = {.prefix = "deberta.",
                 .copies = {},
                 .ends = {"embeddings.position_ids", "embeddings.position_embeddings.weight"},
                 .form = stored_form_of,
                 .other_heads = {"cls.predictions.", "lm_predictions.", "mask_predictions.",
                                 "qa_outputs."},
                 .unprefixed = {"pooler.", "classifier."}},
      .dropouts = {{"hidden_dropout_prob", kUsualDropout},
                   {"attention_probs_dropout_prob", kUsualDropout},
                   {.key = "cls_dropout", .follows = true},
                   {"pooler_dropout", 0, false}},
      .objectives = {"labels"},
      .class_weight = "classifier.weight",
      .trunk = [](graph::GraphBuilder& out, const Architecture& model,
                  const ForwardOptions& options) { return deberta_trunk(out, of(model), options); },
      .head = [](graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                 const ForwardOptions& options) { deberta_head(out, of(model), trunk, options); },
      .decode = nullptr,
      .parameter_count = [](const Architecture& model) { return parameter_count(of(model)); },
      .flops_per_token =
          [](const Architecture& model, const graph::MicroBatch& micro) {
            return flops_per_token(of(model), micro);
          },
      .data_form = [](const Architecture& model) -> DataForm {
        return {.vocabulary = of(model).vocabulary, .positions = kAnyLength, .ids = {.pad = kPad}};
      },
      .fact = [](const Architecture& model) { return "deberta of " + numbers_of(of(model)); },
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
