/// The table of decoders. Sources: the classes of Transformers 5.24; the public config.json files
/// of the sizes.

#include "src/model/decoder.hpp"

namespace zero::model {
namespace {

using Rates = std::map<std::string, double, std::less<>>;

/// The numbers of a size, in the order of the keys of [model].
struct SizeNumbers {
  int64_t layers, width, heads, key_heads, head_width, inner, vocabulary, positions;
};
constexpr int64_t kTied = 1, kUntied = 2;

ModelSize size(std::string_view name, const SizeNumbers& n, int64_t classifier,
               const Rates& rates) {
  return {name,
          {n.layers, n.width, n.heads, n.key_heads, n.head_width, n.inner, n.vocabulary,
           n.positions, classifier},
          rates};
}

/// Returns the rates of a Llama 3.1 or 3.2.
Rates llama3(double factor) {
  return {{"rope_theta", 5e5},
          {"epsilon", 1e-5},
          {"rope_type", 2},
          {"rope_factor", factor},
          {"rope_original", 8192}};
}

std::vector<ModelSize> llama_sizes() {
  const auto plain = [](double theta) { return Rates{{"rope_theta", theta}, {"epsilon", 1e-5}}; };
  Rates smollm2 = plain(1e5);
  smollm2["initializer_range"] = 1.0 / 24;
  return {size("smollm2-135m", {30, 576, 9, 3, 64, 1536, 49152, 8192}, kTied, smollm2),
          size("smollm2-360m", {32, 960, 15, 5, 64, 2560, 49152, 8192}, kTied, plain(1e5)),
          size("tinyllama-1.1b", {22, 2048, 32, 4, 64, 5632, 32000, 2048}, kUntied, plain(1e4)),
          size("llama3.2-1b", {16, 2048, 32, 8, 64, 8192, 128256, 131072}, kTied, llama3(32)),
          size("smollm2-1.7b", {24, 2048, 32, 32, 64, 8192, 49152, 8192}, kTied, plain(1.3e5)),
          size("llama3.2-3b", {28, 3072, 24, 8, 128, 8192, 128256, 131072}, kTied, llama3(32)),
          size("llama2-7b", {32, 4096, 32, 32, 128, 11008, 32000, 4096}, kUntied, plain(1e4)),
          size("llama3-8b", {32, 4096, 32, 8, 128, 14336, 128256, 8192}, kUntied, plain(5e5)),
          size("llama3.1-8b", {32, 4096, 32, 8, 128, 14336, 128256, 131072}, kUntied, llama3(8)),
          size("llama3.1-70b", {80, 8192, 64, 8, 128, 28672, 128256, 131072}, kUntied, llama3(8))};
}

std::vector<ModelSize> qwen2_sizes() {
  const Rates usual = {{"rope_theta", 1e6}}, large = {{"rope_theta", 1e6}, {"epsilon", 1e-5}};
  return {size("qwen2.5-0.5b", {24, 896, 14, 2, 64, 4864, 151936, 32768}, kTied, usual),
          size("qwen2.5-1.5b", {28, 1536, 12, 2, 128, 8960, 151936, 131072}, kTied, usual),
          size("qwen2.5-3b", {36, 2048, 16, 2, 128, 11008, 151936, 32768}, kTied, usual),
          size("qwen2.5-7b", {28, 3584, 28, 4, 128, 18944, 152064, 131072}, kUntied, usual),
          size("qwen2.5-14b", {48, 5120, 40, 8, 128, 13824, 152064, 131072}, kUntied, large),
          size("qwen2.5-32b", {64, 5120, 40, 8, 128, 27648, 152064, 131072}, kUntied, large),
          size("qwen2.5-72b", {80, 8192, 64, 8, 128, 29568, 152064, 131072}, kUntied, large)};
}

std::vector<ModelSize> qwen3_sizes() {
  const Rates usual = {{"rope_theta", 1e6}};
  return {size("qwen3-0.6b", {28, 1024, 16, 8, 128, 3072, 151936, 40960}, kTied, usual),
          size("qwen3-1.7b", {28, 2048, 16, 8, 128, 6144, 151936, 40960}, kTied, usual),
          size("qwen3-4b", {36, 2560, 32, 8, 128, 9728, 151936, 40960}, kTied, usual),
          size("qwen3-8b", {36, 4096, 32, 8, 128, 12288, 151936, 40960}, kUntied, usual),
          size("qwen3-14b", {40, 5120, 40, 8, 128, 17408, 151936, 40960}, kUntied, usual),
          size("qwen3-32b", {64, 5120, 64, 8, 128, 25600, 151936, 40960}, kUntied, usual)};
}

std::vector<ModelSize> mistral_sizes() {
  const Rates windows = {{"epsilon", 1e-5}};
  const Rates none = {{"epsilon", 1e-5}, {"rope_theta", 1e6}, {"window", 0}};
  return {size("mistral-7b-v0.1", {32, 4096, 32, 8, 128, 14336, 32000, 32768}, kUntied, windows),
          size("mistral-7b-v0.3", {32, 4096, 32, 8, 128, 14336, 32768, 32768}, kUntied, none)};
}

/// Returns the rows of the most common folders.
std::vector<DecoderRow> common_rows() {
  return {{.type = "llama",
           .hub_class = "LlamaForCausalLM",
           .title = "Llama",
           .divides_width = true,
           .flags = {"attention_bias", "mlp_bias"},
           .begin = {1},
           .end = {2},
           .sizes = llama_sizes()},
          {.type = "qwen2",
           .hub_class = "Qwen2ForCausalLM",
           .title = "Qwen2",
           .sliding = Sliding::late,
           .lists_kinds = true,
           .key_heads = 32,
           .window = 4096,
           .has_bias = true,
           .sizes = qwen2_sizes()},
          {.type = "qwen3",
           .hub_class = "Qwen3ForCausalLM",
           .title = "Qwen3",
           .key_norm = KeyNorm::before_turn,
           .sliding = Sliding::late,
           .lists_kinds = true,
           .flags = {"attention_bias"},
           .key_heads = 32,
           .head_width = 128,
           .window = 4096,
           .sizes = qwen3_sizes()},
          {.type = "mistral",
           .hub_class = "MistralForCausalLM",
           .title = "Mistral",
           .sliding = Sliding::all,
           .key_heads = 8,
           .window = 4096,
           .begin = {1},
           .end = {2},
           .sizes = mistral_sizes()}};
}

/// Returns the rows of small models of that kind.
std::vector<DecoderRow> small_rows() {
  return {{.type = "ministral",
           .hub_class = "MinistralForCausalLM",
           .title = "Ministral",
           .sliding = Sliding::all,
           .lists_kinds = true,
           .key_heads = 8,
           .window = 4096,
           .begin = {1},
           .end = {2}},
          {.type = "smollm3",
           .hub_class = "SmolLM3ForCausalLM",
           .title = "SmolLM3",
           .sliding = Sliding::unturned,
           .lists_kinds = true,
           .skips_turns = true,
           .flags = {"attention_bias", "mlp_bias"},
           .key_heads = 4,
           .theta = 2e6,
           .is_tied = true,
           .begin = {128000},
           .end = {128001},
           .pad = {128004}}};
}

/// Returns rows whose norms stand behind branches.
std::vector<DecoderRow> rows_with_norms_behind() {
  return {{.type = "olmo2",
           .hub_class = "Olmo2ForCausalLM",
           .title = "OLMo 2",
           .norms = NormPlace::behind,
           .key_norm = KeyNorm::whole,
           .flags = {"attention_bias"},
           .epsilon = 1e-5,
           .end = {50279},
           .pad = {1}},
          {.type = "olmo3",
           .hub_class = "Olmo3ForCausalLM",
           .title = "OLMo 3",
           .norms = NormPlace::behind,
           .key_norm = KeyNorm::whole,
           .has_two_ropes = true,
           .sliding = Sliding::periodic,
           .period = 4,
           .lists_kinds = true,
           .flags = {"attention_bias"},
           .theta = 5e5,
           .local_theta = 5e5,
           .epsilon = 1e-5,
           .window = 4096,
           .end = {50279},
           .pad = {1}},
          {.type = "exaone4",
           .hub_class = "Exaone4ForCausalLM",
           .title = "EXAONE 4",
           .norms = NormPlace::behind,
           .key_norm = KeyNorm::before_turn,
           .turns_sliding = true,
           .sliding = Sliding::periodic,
           .period = 4,
           .lists_kinds = true,
           .has_period_key = true,
           .key_heads = 32,
           .epsilon = 1e-5,
           .window = 4096,
           .begin = {0},
           .end = {2}}};
}

/// Returns rows with norms on both sides of branches.
std::vector<DecoderRow> rows_with_norms_on_both_sides() {
  return {{.type = "gemma2",
           .hub_class = "Gemma2ForCausalLM",
           .title = "Gemma 2",
           .norms = NormPlace::both,
           .one_plus = true,
           .feed_forward = FeedForward::gelu,
           .scales_embedding = true,
           .sliding = Sliding::periodic,
           .period = 2,
           .lists_kinds = true,
           .has_caps = true,
           .divides_width = true,
           .flags = {"attention_bias"},
           .activation_key = "hidden_activation",
           .activation = "gelu_pytorch_tanh",
           .key_heads = 4,
           .head_width = 256,
           .window = 4096,
           .query_scalar = 256,
           .attention_cap = 50,
           .logit_cap = 30,
           .is_tied = true,
           .begin = {2},
           .end = {1},
           .pad = {0}},
          {.type = "gemma3_text",
           .hub_class = "Gemma3ForCausalLM",
           .title = "Gemma 3",
           .norms = NormPlace::both,
           .one_plus = true,
           .key_norm = KeyNorm::before_turn,
           .feed_forward = FeedForward::gelu,
           .scales_embedding = true,
           .has_two_ropes = true,
           .sliding = Sliding::periodic,
           .period = 6,
           .lists_kinds = true,
           .has_period_key = true,
           .has_caps = true,
           .divides_width = true,
           .flags = {"attention_bias"},
           .activation_key = "hidden_activation",
           .activation = "gelu_pytorch_tanh",
           .key_heads = 4,
           .head_width = 256,
           .theta = 1e6,
           .local_theta = 1e4,
           .window = 4096,
           .query_scalar = 256,
           .is_tied = true,
           .begin = {2},
           .end = {1},
           .pad = {0}}};
}

/// Returns rows that differ from the first by single numbers and terms.
std::vector<DecoderRow> rows_with_other_terms() {
  return {{.type = "granite",
           .hub_class = "GraniteForCausalLM",
           .title = "Granite",
           .has_multipliers = true,
           .flags = {"attention_bias", "mlp_bias"},
           .begin = {1},
           .end = {2}},
          {.type = "phi3",
           .hub_class = "Phi3ForCausalLM",
           .title = "Phi-3",
           .is_packed = true,
           .drops_residuals = true,
           .sliding = Sliding::all,
           .has_partial_turn = true,
           .residual_dropout = "resid_pdrop",
           .epsilon = 1e-5,
           .begin = {1},
           .end = {32000},
           .pad = {32000}},
          {.type = "ministral3",
           .hub_class = "Ministral3ForCausalLM",
           .title = "Ministral 3",
           .sliding = Sliding::all,
           .grows_queries = true,
           .key_heads = 8,
           .head_width = 128,
           .theta = 1e6,
           .epsilon = 1e-5,
           .begin = {1},
           .end = {2},
           .pad = {11}},
          {.type = "seed_oss",
           .hub_class = "SeedOssForCausalLM",
           .title = "Seed-OSS",
           .drops_residuals = true,
           .flags = {"attention_bias", "attention_out_bias", "mlp_bias"},
           .residual_dropout = "residual_dropout",
           .key_heads = 8,
           .head_width = 128,
           .usual_dropout = 0.1,
           .has_bias = true,
           .begin = {0},
           .end = {2},
           .pad = {1}}};
}

std::vector<DecoderRow> rows_with_other_parts() {
  return {{.type = "hunyuan_v1_dense",
           .hub_class = "HunYuanDenseV1ForCausalLM",
           .title = "HunYuan",
           .key_norm = KeyNorm::behind_turn,
           .query_norm_name = "query_layernorm",
           .key_norm_name = "key_layernorm",
           .has_alpha = true,
           .flags = {"attention_bias"},
           .epsilon = 1e-5,
           .begin = {1},
           .end = {2},
           .pad = {0}},
          {.type = "arcee",
           .hub_class = "ArceeForCausalLM",
           .title = "Arcee",
           .feed_forward = FeedForward::squared_relu,
           .divides_width = true,
           .flags = {"attention_bias", "mlp_bias"},
           .activation = "relu2",
           .epsilon = 1e-5,
           .begin = {128000},
           .end = {128001}}};
}

}  // namespace

std::span<const DecoderRow> decoder_rows() {
  static const std::vector<DecoderRow> kRows = [] {
    std::vector<DecoderRow> all = common_rows();
    for (const auto& more : {small_rows, rows_with_norms_behind, rows_with_norms_on_both_sides,
                             rows_with_other_terms, rows_with_other_parts}) {
      for (const DecoderRow& row : more()) all.push_back(row);
    }
    return all;
  }();
  return kRows;
}

}  // namespace zero::model
