#include <algorithm>
#include <cmath>
#include <deque>

#include "src/model/decoder.hpp"
#include "src/model/shared_by_families.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

constexpr int64_t kTied = 1, kUntied = 2;  // values of model.classifier

/// Returns the row that a configuration asks for.
const DecoderRow& row_in(const RunConfig& config) {
  const DecoderRow* row = find_decoder_row(family_of(config.model).name);
  ZERO_REQUIRE(row, "a decoder's number of another family");
  return *row;
}

int64_t as_many_heads(const RunConfig& config) { return config.model.numbers.count("heads"); }

int64_t head_width_of(const RunConfig& config) {
  const int64_t heads = as_many_heads(config), usual = row_in(config).head_width;
  if (usual > 0) return usual;
  return heads > 0 ? config.model.numbers.count("width") / heads : 0;
}

int64_t classifier_of(const RunConfig& config) { return row_in(config).is_tied ? kTied : kUntied; }

int64_t count_weights(const Decoder& model) {
  const int64_t attention = model.width * (model.packed_width() + model.heads * model.head_width);
  return attention + (model.is_gated() ? 3 : 2) * model.width * model.inner;
}

/// Returns the elements of norms and biases of a layer.
int64_t count_vectors(const Decoder& model) {
  const DecoderRow& row = *model.row;
  int64_t numel = (row.norms == NormPlace::both ? 4 : 2) * model.width;
  if (row.key_norm == KeyNorm::whole)
    numel += (model.heads + model.key_heads) * model.head_width;
  else if (row.key_norm != KeyNorm::none)
    numel += 2 * model.head_width;
  if (model.has_bias) numel += model.packed_width();
  if (model.has_output_bias) numel += model.width;
  if (model.has_feed_bias) numel += (model.is_gated() ? 2 : 1) * model.inner + model.width;
  return numel;
}

int64_t count_parameters(const Decoder& model) {
  return (model.tied ? 1 : 2) * model.vocabulary * model.width + model.width +
         model.layers * (count_weights(model) + count_vectors(model));
}

/// Returns the mean number of keys that a token of a text sees, half of itself counted.
double mean_keys(double length, double window) {
  if (window == 0 || window >= length) return length / 2;
  return window - window * window / (2 * length);
}

double count_flops(const Decoder& model, int64_t length) {
  const auto layers = double(model.layers), attended = double(model.heads * model.head_width);
  double keys = 0;
  for (const bool slides : model.slides)
    keys += mean_keys(double(length), slides ? double(model.window) : 0);
  return 6 * (layers * double(count_weights(model)) + double(model.vocabulary * model.width)) +
         12 * attended * keys;
}

/// Returns the layers of a list as "0-2, 4".
std::string ranges_of(const std::vector<bool>& flags) {
  std::string all;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    size_t last = i;
    while (last + 1 < flags.size() && flags[last + 1]) ++last;
    all += text(all.empty() ? "" : ", ", i);
    if (last > i) all += text("-", last);
    i = last;
  }
  return all;
}

std::string numbers_of(const Decoder& model) {
  std::string words =
      text(counted(model.layers, "layer"), " of ", model.width, " with ",
           counted(model.heads, "head"), " of ", model.head_width, ", ", model.key_heads,
           " of keys, inner ", model.inner, ", ", model.vocabulary, " tokens, ",
           counted(model.positions, "position"), ", ", model.tied ? "tied" : "own", " classifier");
  const std::string sliding = ranges_of(model.slides);
  if (!sliding.empty()) words += text(", windows of ", model.window, " in layers ", sliding);
  std::vector<bool> still = model.turns;
  still.flip();
  const std::string plain = ranges_of(still);
  if (!plain.empty()) words += text(", no rotation in layers ", plain);
  return words;
}

/// Returns the numbers and the constants that are not usual. recipe.cpp adds those to a fact.
std::string words_of(const Architecture& model) {
  std::string words =
      text(numbers_of(decoder_of(model)), ", epsilon ", float(model.numbers.rate("epsilon")));
  for (const auto& [name, usual] : model.family->constants) {
    const auto rate = float(model.numbers.rate(name));
    if (name != "epsilon" && rate != float(usual)) words += text(", ", name, ' ', rate);
  }
  return words;
}

DataForm data_form_of(const Architecture& model) {
  const std::vector<double>& end = model.numbers.list("end");
  const int64_t positions = model.numbers.count("max_positions");
  const Rope rope = rope_of(model.numbers);
  // Beyond its original positions longrope turns by other frequencies, which no cache spans.
  const bool is_long = rope.type == RopeType::longrope && rope.original < double(positions);
  return {.vocabulary = model.numbers.count("vocab_size"),
          .positions = positions,
          .ids = {.end = end.empty() ? -1 : int64_t(end.front())},
          .cached = is_long ? int64_t(rope.original) : 0};
}

StoredForm stored_form_of(const Architecture& architecture, std::string_view parameter) {
  const Decoder model = decoder_of(architecture);
  const bool is_weight = parameter.ends_with("_proj.weight"),
             is_bias = parameter.ends_with("_proj.bias");
  const std::string name(parameter);
  if (!is_weight && !is_bias) return {.names = {name}};
  StoredForm form{.names = {name}, .transposed = is_weight};
  if (model.row->is_packed) return form;
  const std::string end = is_weight ? "_proj.weight" : "_proj.bias";
  const auto part = [&](std::string_view packed, std::string_view own) {
    return text(parameter.substr(0, parameter.size() - packed.size() - end.size()), own, end);
  };
  if (name.ends_with(".qkv" + end)) {
    form.names = {part("qkv", "q"), part("qkv", "k"), part("qkv", "v")};
    const int64_t keys = model.key_heads * model.head_width;
    form.widths = {model.heads * model.head_width, keys, keys};
  } else if (name.ends_with(".gate_up" + end)) {
    form.names = {part("gate_up", "gate"), part("gate_up", "up")};
  }
  return form;
}

std::string other_classifier(const RunConfig& config) {
  if (model_numbers(config).count("classifier") <= kUntied) return "";
  return "a decoder does not scale its classifier so; write classifier = \"tied\" or \"untied\"";
}

/// Returns the error text for heads that do not fit together.
std::string misfit_in(const RunConfig& config) {
  const ModelNumbers numbers = model_numbers(config);
  if (numbers.count("heads") == 0 || numbers.count("layers") == 0) return "";
  return misfit_of({.row = &row_in(config),
                    .layers = numbers.count("layers"),
                    .width = numbers.count("width"),
                    .heads = numbers.count("heads"),
                    .key_heads = numbers.count("key_heads"),
                    .head_width = numbers.count("head_width"),
                    .inner = numbers.count("inner")});
}

std::vector<Rule> rules_of(const DecoderRow& row) {
  const std::vector<std::string> small = {
      "model.name = \"\"", text("model.family = \"", row.type, '"'), "model.layers = 2",
      "model.width = 32", "model.heads = 4"};
  const auto with = [&](const std::string& line) {
    std::vector<std::string> lines = small;
    lines.push_back(line);
    return lines;
  };
  return {{.keys = {"model.heads", "model.key_heads", "model.head_width", "model.width"},
           .broken = misfit_in,
           .example = with("model.key_heads = 3")},
          {.keys = {"model.classifier", "model.family"},
           .broken = other_classifier,
           .example = with("model.classifier = \"untied-scaled\"")},
          {.keys = {"data.sequence_length", "model.max_positions", "model.name"},
           .broken = long_sequence,
           .example = with("model.max_positions = 8")}};
}

ModelFamily settings_of(const DecoderRow& row) {
  const Range count{.low = 1, .high = 1 << 20, .automatic = true};
  const auto bytes = [](const RunConfig&) -> int64_t { return 256; };
  const auto length = [](const RunConfig& config) { return config.data.sequence_length; };
  return {.name = row.type,
          .example_input = "",
          .counts = {{"layers", {.low = 1, .high = 10000, .automatic = true}},
                     {"width", count},
                     {"heads", {.low = 1, .high = 1 << 14, .automatic = true}},
                     {"key_heads",
                      {.low = 1, .high = 1 << 14, .automatic = true},
                      as_many_heads,
                      "model.heads"},
                     {"head_width", count, head_width_of, "model.width"},
                     {"inner", count, four_widths, "model.width"},
                     {"vocab_size", {.low = 2, .high = 1 << 24, .automatic = true}, bytes},
                     {"max_positions",
                      {.low = 1, .high = 1 << 24, .automatic = true},
                      length,
                      "data.sequence_length"},
                     {"classifier",
                      {},
                      classifier_of,
                      "model.family",
                      {"tied", "untied", "tied-unscaled", "untied-scaled"}}},
          .rates = {{"dropout", {.high = 1, .below_high = true}, row.usual_dropout},
                    {.name = "rope_theta",
                     .range = {.low = 1, .high = 1e12, .automatic = true},
                     .initial = 0,
                     .network = true,
                     .usual = row.theta}},
          .sizes = row.sizes,
          .rules = rules_of(row),
          .blocks = {"layers"}};
}

/// Returns a model for probes, of the first row: its block has the arithmetic of all.
Probe probe(ProbeSize size) {
  const auto model = [](int64_t layers, int64_t width, int64_t vocabulary, int64_t positions) {
    Architecture small{.family = decoder_families().front(), .numbers = {}};
    small.numbers.rates = decoder_constants(decoder_rows().front());
    small.numbers.rates["dropout"] = 0;
    small.numbers.rates["rope_theta"] = 1e4;
    small.numbers.counts = {
        {"layers", layers},         {"width", width},
        {"heads", width / 64},      {"key_heads", std::max<int64_t>(1, width / 256)},
        {"head_width", 64},         {"inner", 8 * width / 3 / 64 * 64},
        {"vocab_size", vocabulary}, {"max_positions", positions},
        {"classifier", kTied}};
    return small;
  };
  switch (size) {
    case ProbeSize::brief:
      return {model(4, 64, 256, 32), {.samples = 1, .length = 32}};
    case ProbeSize::narrow:
      return {model(1, 128, 1024, 256), {.samples = 2, .length = 256}};
    case ProbeSize::host:
      return {model(1, 768, 4096, 256), {.samples = 2, .length = 256}};
    case ProbeSize::device:
      break;
  }
  return {model(4, 2048, 8192, 1024), {.samples = 4, .length = 1024}};
}

std::vector<HubDropout> dropouts_of(const DecoderRow& row) {
  std::vector<HubDropout> rates = {{"attention_dropout", row.usual_dropout}};
  if (!row.residual_dropout.empty()) rates.push_back({row.residual_dropout, row.usual_dropout});
  return rates;
}

Family family_for(const DecoderRow& row) {
  constexpr const char* kWhy =
      "tie_word_embeddings says that the head is the table of tokens; write false there to keep "
      "both, or remove the head";
  return {
      .settings = settings_of(row),
      .constants = decoder_constants(row),
      .title = row.title,
      .hub_type = row.type,
      .hub_class = row.hub_class,
      .stored = {.prefix = "model.",
                 .copies = {{"lm_head.weight", "embed_tokens.weight", kWhy}},
                 .ends = {"rotary_emb.inv_freq"},
                 .form = stored_form_of,
                 .other_heads = {"lm_head."},
                 .unprefixed = {"lm_head."}},
      .dropouts = dropouts_of(row),
      .objectives = {"documents", "tokens"},
      .packs = true,
      .keeps_config = true,
      .trunk =
          [](graph::GraphBuilder& out, const Architecture& model, const ForwardOptions& options) {
            return decoder_trunk(out, decoder_of(model), options);
          },
      .head =
          [](graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
             const ForwardOptions& options) {
            decoder_head(out, decoder_of(model), trunk, options);
          },
      .decode = [](const Architecture& model, const graph::Chunk& chunk,
                   Dtype compute) { return decoder_decode(decoder_of(model), chunk, compute); },
      .parameter_count =
          [](const Architecture& model) { return count_parameters(decoder_of(model)); },
      .flops_per_token =
          [](const Architecture& model, const graph::MicroBatch& micro) {
            return count_flops(decoder_of(model), micro.length);
          },
      .data_form = data_form_of,
      .fact =
          [](const Architecture& model) {
            return text(model.family->hub_type, " of ", numbers_of(decoder_of(model)));
          },
      .words = words_of,
      .from_hub = decoder_from_hub,
      .complete = complete_decoder,
      .to_hub = decoder_to_hub,
      .probe = probe};
}

/// Families by rows; their addresses stay.
const std::deque<Family>& families() {
  static const std::deque<Family> kFamilies = [] {
    std::deque<Family> all;
    for (const DecoderRow& row : decoder_rows()) all.push_back(family_for(row));
    return all;
  }();
  return kFamilies;
}

}  // namespace

std::vector<const Family*> decoder_families() {
  std::vector<const Family*> all;
  for (const Family& family : families()) all.push_back(&family);
  return all;
}

const DecoderRow* find_decoder_row(std::string_view type) {
  const auto found = std::ranges::find(decoder_rows(), type, &DecoderRow::type);
  return found == decoder_rows().end() ? nullptr : &*found;
}

const DecoderRow& decoder_row(const Family& family) {
  const DecoderRow* row = find_decoder_row(family.hub_type);
  ZERO_REQUIRE(row, family.title, " is no decoder of a row");
  return *row;
}

}  // namespace zero::model
