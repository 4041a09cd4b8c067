#include <algorithm>
#include <set>

#include "src/model/decoder.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/model/unmet_keys.hpp"

namespace zero::model {
namespace {

constexpr int64_t kTied = 1, kUntied = 2;  // values of model.classifier
constexpr int64_t kMostLayers = 10'000, kMostWidth = 1'000'000, kMostIds = 100'000'000;
constexpr double kMostScale = 1e6;

/// Keys that change no number of a network: a file's origin, options of programs, and heads that
/// the class does not have.
const std::set<std::string, std::less<>> kHarmless = {"_name_or_path",
                                                      "transformers_version",
                                                      "use_cache",
                                                      "torch_dtype",
                                                      "dtype",
                                                      "pretraining_tp",
                                                      "is_llama_config",
                                                      "_attn_implementation_autoset",
                                                      "attn_implementation",
                                                      "zeroapp",
                                                      "id2label",
                                                      "label2id",
                                                      "task_specific_params",
                                                      "tokenizer_class",
                                                      "output_hidden_states",
                                                      "output_attentions",
                                                      "return_dict",
                                                      "torchscript",
                                                      "problem_type",
                                                      "finetuning_task",
                                                      "chunk_size_feed_forward",
                                                      "_sliding_window_pattern",
                                                      "prefix",
                                                      "embd_pdrop",
                                                      "eod_token_id",
                                                      "unsloth_version",
                                                      "unsloth_fixed"};

bool is_harmless(std::string_view key) {
  GenerationConfig any;
  return kHarmless.contains(key) || is_unmet_key(key) ||
         assign_generation(any, key, TomlValue(int64_t(0))).has_value();
}

/// Reads a config.json by a row.
class Reader {
 public:
  Reader(const HubConfig& config, const DecoderRow& row) : config_(config), row_(row) {
    numbers_.rates = decoder_constants(row);
  }

  ModelNumbers read() {
    refuse_other_code();
    read_counts();
    read_widths();
    require_size();
    read_rates();
    read_turns();
    read_windows();
    read_ids();
    config_.require_all_asked(is_harmless);
    for (auto& [name, rate] : numbers_.rates) rate = float(rate);
    return numbers_;
  }

 private:
  int64_t& count(const char* name) { return numbers_.counts[name]; }
  double& rate(const char* name) { return numbers_.rates[name]; }

  void refuse_other_code() const {
    config_.require_none("auto_map",
                         "its network is code of its own, and only Transformers' own classes are "
                         "built; take a model that Transformers loads without trust_remote_code");
    for (const std::string& name : config_.words("architectures")) {
      const std::string_view own = row_.hub_class;
      const bool is_base = text(own.substr(0, own.find("For")), "Model") == name;
      if (name != own && !is_base) config_.fail("architectures", text("only [\"", own, "\"]"));
    }
    const std::string key(row_.activation_key);
    const std::string activation = config_.word_or(key, std::string(row_.activation));
    if (activation != row_.activation) config_.fail(key, text("only \"", row_.activation, '"'));
    if (row_.activation_key != "hidden_act" && config_.has("hidden_act") &&
        config_.word_or("hidden_act", "") != row_.activation)
      config_.fail("hidden_act", text("only \"", row_.activation, '"'));
  }

  void read_counts() {
    count("layers") = config_.count("num_hidden_layers", kMostLayers);
    count("width") = config_.count("hidden_size", kMostWidth);
    count("heads") = config_.count("num_attention_heads", kMostWidth);
    count("inner") = config_.count("intermediate_size", kMostIds);
    count("vocab_size") = config_.count("vocab_size", kMostIds);
    count("max_positions") = config_.count("max_position_embeddings", kMostIds);
    const bool tied = config_.flag_or("tie_word_embeddings", row_.is_tied);
    count("classifier") = tied ? kTied : kUntied;
  }

  void read_widths() {
    const int64_t heads = count("heads"), width = count("width");
    if (row_.divides_width && width % heads != 0)
      config_.fail("num_attention_heads", "a divisor of hidden_size");
    // null stands for a number from the others, also where an absent key does not.
    const bool as_heads = config_.names("num_key_value_heads") || row_.key_heads == 0;
    const int64_t usual_heads = as_heads ? heads : row_.key_heads;
    const bool as_width = config_.names("head_dim") || row_.head_width == 0;
    const int64_t usual_width = as_width ? width / heads : row_.head_width;
    count("key_heads") = config_.count_or("num_key_value_heads", kMostWidth, usual_heads);
    count("head_width") = config_.count_or("head_dim", kMostWidth, usual_width);
    if (heads % count("key_heads") != 0)
      config_.fail("num_key_value_heads", "a divisor of num_attention_heads");
    if (count("head_width") % 2 == 0 && count("head_width") > 0) return;
    config_.fail(config_.has("head_dim") ? "head_dim" : "hidden_size",
                 "heads of an even number of columns");
  }

  /// Refuses more parameters than are built, by the number that is furthest from usual ones.
  void require_size() {
    const Decoder model{.layers = count("layers"),
                        .width = count("width"),
                        .heads = count("heads"),
                        .key_heads = count("key_heads"),
                        .head_width = count("head_width"),
                        .inner = count("inner"),
                        .vocabulary = count("vocab_size")};
    if (approximate_parameters(model) <= kMostParameters) return;
    const std::pair<const char*, double> shares[] = {
        {"num_hidden_layers", double(model.layers) / 128},
        {"hidden_size", double(model.width) / 16'384},
        {"num_attention_heads", double(model.heads) / 128},
        {"head_dim", config_.has("head_dim") ? double(model.head_width) / 256 : 0.0},
        {"intermediate_size", double(model.inner) / 65'536},
        {"vocab_size", double(model.vocabulary) / 262'144}};
    const auto largest =
        std::ranges::max_element(shares, {}, &std::pair<const char*, double>::second);
    config_.fail(largest->first, text("a model of at most ", kMostParameters, " parameters"));
  }

  void read_rates() {
    rate("dropout") = config_.share_or("attention_dropout", row_.usual_dropout);
    if (!row_.residual_dropout.empty()) config_.names(std::string(row_.residual_dropout));
    rate("epsilon") = config_.epsilon_or("rms_norm_eps", row_.epsilon);
    rate("initializer_range") = config_.number_or("initializer_range", 0, 1, 0.02);
    const auto has = [&](std::string_view key) {
      return std::ranges::find(row_.flags, key) != row_.flags.end();
    };
    const auto flag = [&](std::string_view key, double& place) {
      if (has(key)) place = config_.flag_or(std::string(key), place != 0);
    };
    flag(kBiasKeys[0], rate("attention_bias"));
    flag(kBiasKeys[1], rate("attention_out_bias"));
    flag(kBiasKeys[2], rate("mlp_bias"));
    // Without a key of its own, the output has a bias as queries have.
    if (has(kBiasKeys[0]) && !has(kBiasKeys[1]))
      rate("attention_out_bias") = rate("attention_bias");
    if (row_.has_multipliers) {
      for (const char* key : {"attention_multiplier", "embedding_multiplier", "residual_multiplier",
                              "logits_scaling"})
        rate(key) = config_.number_or(key, 1e-6, kMostScale, 1);
    }
    if (!row_.has_caps) return;
    rate("query_scalar") =
        config_.number_or("query_pre_attn_scalar", 1e-6, kMostScale, row_.query_scalar);
    rate("attention_cap") = cap("attn_logit_softcapping", row_.attention_cap);
    rate("logit_cap") = cap("final_logit_softcapping", row_.logit_cap);
    config_.require("use_bidirectional_attention", false);
  }

  double cap(const char* key, double usual) const {
    return config_.number_or(key, 1e-6, kMostScale, config_.names(key) ? 0 : usual);
  }

  void read_turns() {
    const ReadRope read = rope_in(config_, rope_form());
    set_rope(read.rope, numbers_);
    rate("rope_local_theta") = read.local_theta;
    rate("query_growth") = read.query_growth;
    if (!row_.skips_turns) return;
    const int64_t layers = count("layers"),
                  interval = config_.count_or("no_rope_layer_interval", kMostLayers, 4);
    rate("turn_interval") = double(interval);
    std::vector<double>& turns = numbers_.lists["turns"];
    for (const int64_t turn : config_.wholes("no_rope_layers", 1)) turns.push_back(double(turn));
    if (!config_.has("no_rope_layers")) {
      for (int64_t i = 0; i < layers; ++i) turns.push_back((i + 1) % interval != 0);
    } else if (int64_t(turns.size()) != layers) {
      config_.fail("no_rope_layers", text("a list of ", counted(layers, "number")));
    }
  }

  RopeForm rope_form() {
    return {.theta = row_.theta,
            .local_theta = row_.local_theta,
            .is_partial = row_.has_partial_turn,
            .grows_queries = row_.grows_queries,
            .has_alpha = row_.has_alpha,
            .positions = count("max_positions"),
            .head_width = count("head_width")};
  }

  void read_windows() {
    if (row_.sliding == Sliding::none) return;
    const bool is_switched = row_.sliding == Sliding::late || row_.sliding == Sliding::unturned;
    const double usual = config_.names("sliding_window") ? 0 : row_.window;
    rate("window") = double(config_.count_or("sliding_window", kMostIds, int64_t(usual)));
    if (is_switched) rate("use_window") = config_.flag_or("use_sliding_window", false);
    if (is_switched) rate("window_layers") = double(config_.whole_or("max_window_layers", 28));
    const int64_t period = row_.has_period_key ? period_in() : row_.period;
    rate("window_period") = double(period);
    const std::vector<std::string> kinds =
        row_.lists_kinds ? config_.words("layer_types") : std::vector<std::string>();
    if (!kinds.empty()) return read_kinds(kinds);
    std::vector<double>& slides = numbers_.lists["slides"];
    for (int64_t i = 0; i < count("layers"); ++i) slides.push_back(does_slide(i, period));
  }

  /// True if a layer has the window by the class's own rule.
  bool does_slide(int64_t layer, int64_t period) {
    if (rate("window") == 0) return false;
    switch (row_.sliding) {
      case Sliding::none:
        return false;
      case Sliding::all:
        return true;
      case Sliding::late:
        return rate("use_window") != 0 && double(layer) >= rate("window_layers");
      case Sliding::unturned:
        return rate("use_window") != 0 && numbers_.lists["turns"][size_t(layer)] == 0;
      case Sliding::periodic:
        return period == 0 || (layer + 1) % period != 0;
    }
    return false;
  }

  /// Reads sliding_window_pattern: a period, or its kinds of layers, as "LLLG".
  int64_t period_in() const {
    constexpr const char* kKey = "sliding_window_pattern";
    if (!config_.has(kKey)) return row_.period;
    if (config_.is_word(kKey)) {
      const std::string word = config_.word_or(kKey, "");
      const bool is_regular =
          !word.empty() && word.find_first_not_of('L') == word.size() - 1 && word.back() == 'G';
      if (!is_regular) config_.fail(kKey, "letters L with a G at the end");
      return int64_t(word.size());
    }
    return config_.count(kKey, kMostLayers);
  }

  void read_kinds(const std::vector<std::string>& kinds) {
    if (int64_t(kinds.size()) != count("layers"))
      config_.fail("layer_types", text("a list of ", counted(count("layers"), "word")));
    std::vector<double>& slides = numbers_.lists["slides"];
    for (const std::string& kind : kinds) {
      if (kind != kSlidingKind && kind != kFullKind)
        config_.fail("layer_types", text("only \"", kFullKind, "\" and \"", kSlidingKind, '"'));
      slides.push_back(kind == kSlidingKind);
    }
    const bool any = std::ranges::find(slides, 1.0) != slides.end();
    const bool off = rate("use_window") == 0 &&
                     (row_.sliding == Sliding::late || row_.sliding == Sliding::unturned);
    if (any && off) config_.fail("use_sliding_window", "only true beside such layer_types");
    if (any && rate("window") == 0) config_.fail("sliding_window", "write a number");
  }

  void read_ids() {
    for (const auto& [key, list, usual] :
         {std::tuple("bos_token_id", "begin", &row_.begin), {"eos_token_id", "end", &row_.end}}) {
      std::vector<double>& ids = numbers_.lists[list];
      for (const int64_t id : config_.wholes(key, kMostIds)) ids.push_back(double(id));
      if (!config_.names(key)) ids = *usual;
    }
    read_padding();
    if (numbers_.lists["begin"].size() > 1) config_.fail("bos_token_id", "a single number");
  }

  /// Reads the id of padding. PyTorch counts negative ones from the end of the table.
  void read_padding() {
    constexpr const char* kKey = "pad_token_id";
    const int64_t vocabulary = count("vocab_size");
    std::vector<double>& pad = numbers_.lists["pad"];
    if (config_.has(kKey)) {
      const int64_t id = config_.whole_or(kKey, 0);
      pad = {double(id < 0 ? id + vocabulary : id)};
    } else if (!config_.names(kKey)) {
      pad = row_.pad;
    }
    if (!pad.empty() && (pad.front() < 0 || pad.front() >= double(vocabulary)))
      config_.fail(kKey, text("an id below vocab_size, ", vocabulary, ", or null"));
  }

  const HubConfig& config_;
  const DecoderRow& row_;
  ModelNumbers numbers_;
};

}  // namespace

ModelNumbers decoder_from_hub(const HubConfig& config) {
  const DecoderRow* row = find_decoder_row(config.word_or("model_type", ""));
  ZERO_REQUIRE(row, "a config.json of no row");
  return Reader(config, *row).read();
}

}  // namespace zero::model
