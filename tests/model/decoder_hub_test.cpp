// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/model/decoder.hpp"
#include "tests/support/decoder_trial.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using testing_support::catalogue;
using testing_support::kGoldenDecoders;
using testing_support::refusal_of;

Json hub_of(const std::string& name) { return Json::parse(testing::load_golden_decoder(name).hub); }

Architecture read(const Json& json) {
  HubConfig config(json.dump(), "config.json");
  Architecture model = architecture_in(catalogue(), config);
  // A rate that cannot be expressed is told apart, too.
  model.numbers.rates["mixed"] = double(mixed_dropout(*model.family, config).size());
  return model;
}

std::string refusal_of_row(const Json& json) {
  return refusal_of(Exit::kInput, [&] { read(json); });
}

/// Returns the row's smallest config.json with more entries.
std::string refusal_of_row(const std::string& name, const Json& more) {
  Json json = hub_of(name);
  for (const auto& [key, value] : more.items()) json[key] = value;
  return refusal_of_row(json);
}

Json written(const Architecture& model) {
  Json json;
  for (const HubEntry& entry : model.family->to_hub(model, "float32"))
    json[entry.key] = Json::parse(entry.json);
  return json;
}

class HubOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rows, HubOf, ::testing::ValuesIn(kGoldenDecoders),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(HubOf, ComesBackFromItsConfigJson) {
  const Architecture model = read(hub_of(GetParam()));
  EXPECT_TRUE(read(written(model)) == model);
  Json old = written(model);
  old.erase("rope_parameters");
  if (model.family->hub_type != "olmo3") {
    EXPECT_TRUE(read(old) == model) << "of Transformers 4";
  }
}

/// Keys whose values are no numbers of a network.
const std::set<std::string> kWithoutEffect = {"transformers_version",
                                              "output_hidden_states",
                                              "return_dict",
                                              "chunk_size_feed_forward",
                                              "id2label",
                                              "label2id",
                                              "use_cache",
                                              "_name_or_path",
                                              "output_attentions",
                                              "dtype",
                                              "torch_dtype",
                                              "pretraining_tp",
                                              "eod_token_id",
                                              "embd_pdrop",
                                              "_sliding_window_pattern"};

/// Keys that a list of factors of columns of a head disagrees with.
const std::set<std::string> kWidths = {"hidden_size", "num_attention_heads", "head_dim"};

/// Returns another legal value of a kind.
Json other(const Json& value) {
  if (value.is_null()) return 5;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value == 0 ? Json(2) : Json(2 * value.get<int64_t>());
  if (value.is_number()) return value == 0 ? Json(0.25) : Json(0.5 * value.get<double>());
  if (value.is_string()) {
    const std::string word = value;
    if (word == "full_attention") return "sliding_attention";
    return word == "sliding_attention" ? "full_attention" : "other";
  }
  Json list = value;
  list[0] = list[0].is_number_integer() ? Json(list[0] == 0 ? 1 : 0) : other(list[0]);
  return list;
}

/// Expects that another value of each key below `at` gives another model, or an error that names
/// it.
void expect_seen(const Json& whole, const Json::json_pointer& at, const Architecture& model) {
  for (const auto& [key, value] : whole.at(at).items()) {
    if (kWithoutEffect.contains(key)) continue;
    const Json::json_pointer place = at / key;
    if (value.is_object()) {
      expect_seen(whole, place, model);
      continue;
    }
    Json changed = whole;
    changed.at(place) = other(value);
    std::string fault;
    bool is_other = false;
    fault = refusal_of(Exit::kInput, [&] { is_other = !(read(changed) == model); });
    // Dictionaries that differ are named whole. A list by layers tells that their number differs.
    const std::string path = place.to_string(), top = path.substr(1, path.find('/', 1) - 1);
    const bool is_named = fault.find(top) != fault.npos || fault.find(key) != fault.npos ||
                          (key == "num_hidden_layers" && fault.find("layer") != fault.npos) ||
                          (kWidths.contains(key) && fault.find("_factor") != fault.npos);
    EXPECT_TRUE(is_other || is_named) << place << ": " << other(value) << ": " << fault;
  }
}

TEST_P(HubOf, NoKeyChangesUnseen) {
  const Json own = hub_of(GetParam()), ours = written(read(own));
  Json old = ours;
  old.erase("rope_parameters");
  for (const Json& json : {own, ours, old}) expect_seen(json, Json::json_pointer(), read(json));
}

TEST_P(HubOf, AKeyThatNobodyKnowsIsNamed) {
  EXPECT_THAT(refusal_of_row(GetParam(), {{"surprise", 1}}), HasSubstr("surprise is 1"));
  EXPECT_THAT(refusal_of_row(GetParam(), {{"num_experts", 8}}), HasSubstr("num_experts is 8"));
  EXPECT_THAT(refusal_of_row(GetParam(), {{"surprise", {{"inside", "x"}}}}),
              HasSubstr("surprise.inside"));
  EXPECT_THAT(refusal_of_row(GetParam(), {{"surprise", {0, false}}}), HasSubstr("surprise"));
  EXPECT_EQ(refusal_of_row(GetParam(), {{"surprise", nullptr}, {"another", false}}), "");
  EXPECT_EQ(refusal_of_row(GetParam(), {{"surprise", Json::array()}, {"another", Json::object()}}),
            "");
}

TEST(DecoderHub, RefusesWeightsAndCodeThatItDoesNotRead) {
  EXPECT_THAT(refusal_of_row("llama_a", {{"quantization_config", {{"bits", 4}}}}),
              HasSubstr("quantized"));
  EXPECT_THAT(refusal_of_row("llama_a", {{"auto_map", {{"AutoModel", "x.Y"}}}}),
              HasSubstr("without trust_remote_code"));
  EXPECT_THAT(refusal_of_row("llama_a", {{"architectures", {"LlamaForSequenceClassification"}}}),
              HasSubstr("only [\"LlamaForCausalLM\"]"));
  EXPECT_EQ(refusal_of_row("llama_a", {{"architectures", {"LlamaModel"}}}), "");
}

TEST(DecoderHub, RefusesWhatItsNetworkLacks) {
  EXPECT_THAT(refusal_of_row("llama_a", {{"hidden_act", "gelu"}}), HasSubstr("only \"silu\""));
  EXPECT_THAT(refusal_of_row("llama_a", {{"num_key_value_heads", 3}}),
              HasSubstr("num_key_value_heads is 3: a divisor of num_attention_heads"));
  EXPECT_THAT(refusal_of_row("llama_a", {{"head_dim", 7}}), HasSubstr("an even number of columns"));
  EXPECT_THAT(refusal_of_row("llama_c", {{"hidden_size", 50}}),
              HasSubstr("a divisor of hidden_size"));
  EXPECT_THAT(refusal_of_row("mistral_a", {{"attention_bias", true}}), HasSubstr("attention_bias"));
  EXPECT_THAT(refusal_of_row("llama_a", {{"partial_rotary_factor", 0.5}}),
              HasSubstr("partial_rotary"));
  EXPECT_THAT(refusal_of_row("llama_a", {{"logit_scale", 0.5}}), HasSubstr("logit_scale"));
  EXPECT_THAT(
      refusal_of_row("qwen2_a", {{"layer_types", {"full_attention", "mamba", "full_attention"}}}),
      HasSubstr("only \"full_attention\" and \"sliding_attention\""));
  EXPECT_THAT(refusal_of_row("qwen2_b", {{"use_sliding_window", false}}),
              HasSubstr("use_sliding_window is false: only true beside such layer_types"));
  EXPECT_THAT(refusal_of_row("qwen2_a", {{"use_mrope", true}}), HasSubstr("use_mrope"));
  EXPECT_EQ(refusal_of_row("qwen2_a", {{"use_mrope", false}}), "");
  EXPECT_THAT(refusal_of_row("llama_a", {{"hidden_size", {48, 48}}}), HasSubstr("hidden_size"));
}

TEST(DecoderHub, ReadsBothSpellingsOfARope) {
  Json json = hub_of("llama_c");
  const Json scaling = json["rope_parameters"];
  const Architecture model = read(json);
  Json old = json;
  old.erase("rope_parameters");
  old["rope_theta"] = 10000.0;
  old["rope_scaling"] = scaling;
  old["rope_scaling"].erase("rope_theta");
  EXPECT_TRUE(read(old) == model);
  old["rope_scaling"]["type"] = "llama3";
  old["rope_scaling"].erase("rope_type");
  EXPECT_TRUE(read(old) == model) << "the oldest key";
  Json both = old;
  both["rope_parameters"] = scaling;
  EXPECT_TRUE(read(both) == model);
  both["rope_scaling"]["factor"] = 8.0;
  EXPECT_THAT(refusal_of_row(both), HasSubstr("describe different rotations"));
  both = json;
  both["rope_theta"] = 500000.0;
  EXPECT_THAT(refusal_of_row(both), HasSubstr("rope_theta is 500000: what rope_parameters says"));
  json.erase("rope_parameters");
  EXPECT_EQ(read(json).numbers.rate("rope_theta"), 10000);
}

TEST(DecoderHub, RefusesRopesThatItDoesNotTurnBy) {
  for (const char* type : {"longrope", "proportional", "mrope"}) {
    const Json rope = {{"rope_type", type}, {"rope_theta", 1e4}, {"factor", 2.0}};
    EXPECT_THAT(refusal_of_row("llama_a", {{"rope_parameters", rope}}),
                HasSubstr("only \"default\", \"linear\", \"llama3\", \"yarn\" or \"dynamic\""));
  }
  const Json nested = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
  EXPECT_THAT(refusal_of_row("llama_a", {{"rope_parameters", nested}}),
              HasSubstr("full_attention"));
  EXPECT_THAT(refusal_of_row("llama_a", {{"rope_scaling", {{"type", "linear"}}}}),
              HasSubstr("rope_scaling.factor: is missing"));
  EXPECT_THAT(refusal_of_row("phi3", {{"partial_rotary_factor", 0.25}}),
              HasSubstr("partial_rotary"));
}

TEST(DecoderHub, WritesLongropeInTheThreeKeysThatTransformers4Takes) {
  const Json old = written(read(hub_of("phi3")))["rope_scaling"];
  EXPECT_EQ(old.size(), 3u);
  EXPECT_EQ(old["type"], "longrope");
  EXPECT_EQ(old["long_factor"].size(), 3u);
  EXPECT_EQ(old["short_factor"].size(), 3u);
}

TEST(DecoderHub, TurnsByADynamicRopeAsItsClassDoesUpToItsPositions) {
  const Json rope = {{"rope_type", "dynamic"}, {"rope_theta", 5e3}, {"factor", 2.0}};
  Json json = hub_of("llama_a");
  json["rope_parameters"] = rope;
  const Architecture model = read(json);
  EXPECT_EQ(written(model)["rope_parameters"], rope);
  const Rope plain{.theta = 5e3}, stretched{.theta = 5e3 * std::pow(8, 16.0 / 14)};
  const RopeExtent extent{16, 256, 256};
  EXPECT_EQ(rotary_of(decoder_of(model).rope, extent).frequencies,
            rotary_of(plain, extent).frequencies);
  Json alpha = rope;
  alpha["alpha"] = 8.0;
  EXPECT_THAT(refusal_of_row("llama_a", {{"rope_parameters", alpha}}), HasSubstr("alpha"));
  Json hunyuan = hub_of("hunyuan_v1_dense");
  hunyuan["rope_parameters"] = alpha;
  hunyuan["rope_parameters"]["beta_fast"] = 32;
  EXPECT_EQ(rotary_of(decoder_of(read(hunyuan)).rope, extent).frequencies,
            rotary_of(stretched, extent).frequencies);
  hunyuan["rope_parameters"]["beta_fast"] = 16;
  EXPECT_THAT(refusal_of_row(hunyuan), HasSubstr("beta_fast is 16: only 32 beside a dynamic rope"));
}

TEST(DecoderHub, TurnsAsManyColumnsAsAShareSaysInDecimals) {
  for (const auto& [share, pairs] : {std::pair(0.7f, 28u), {0.9f, 36u}, {0.25f, 10u}, {1.0f, 40u}})
    EXPECT_EQ(rotary_of({.share = share}, {80, 16, 4}).frequencies.size(), pairs) << share;
}

TEST(DecoderHub, GivesAbsentKeysTheMeaningOfTheirClass) {
  const auto without = [](const std::string& name, const std::vector<std::string>& keys) {
    Json json = hub_of(name);
    for (const std::string& key : keys) json.erase(key);
    return decoder_of(read(json));
  };
  EXPECT_EQ(without("llama_a", {"num_key_value_heads"}).key_heads, 4);
  EXPECT_EQ(without("llama_c", {"head_dim"}).head_width, 12);
  EXPECT_EQ(without("qwen3_a", {"head_dim"}).head_width, 128);
  EXPECT_FALSE(without("llama_b", {"tie_word_embeddings"}).tied);
  EXPECT_TRUE(without("smollm3", {"tie_word_embeddings"}).tied);
  EXPECT_EQ(without("mistral_a", {"sliding_window"}).window, 4096);
  EXPECT_EQ(without("mistral_a", {}).window, 0) << "null";
  EXPECT_EQ(without("olmo2", {"rms_norm_eps"}).epsilon, 1e-5f);
  EXPECT_EQ(without("qwen2_b", {"layer_types"}).slides, (std::vector<bool>{0, 1, 1}));
  EXPECT_EQ(without("olmo3", {"layer_types"}).slides, (std::vector<bool>{1, 1, 1, 0}));
  EXPECT_EQ(without("gemma2", {"layer_types"}).slides, (std::vector<bool>{1, 0, 1}));
  EXPECT_EQ(without("smollm3", {"layer_types"}).slides, (std::vector<bool>{0, 1, 0}));
  EXPECT_EQ(without("smollm3", {"layer_types", "no_rope_layers"}).turns, (std::vector<bool>(3, 1)));
  const std::vector<double> end = read(hub_of("llama_a")).numbers.list("end");
  EXPECT_EQ(end, std::vector<double>{2});
}

TEST(DecoderHub, GivesSeedsAbsentKeyHeadsAndGrowthTheirMeaning) {
  Json json = hub_of("seed_oss");
  json.erase("num_key_value_heads");
  json["num_attention_heads"] = 16;
  EXPECT_EQ(decoder_of(read(json)).key_heads, 8);
  const Json plain = {{"rope_type", "default"}, {"rope_theta", 1e4}, {"llama_4_scaling_beta", 0.1}};
  EXPECT_THAT(refusal_of_row("ministral3", {{"rope_parameters", plain}}),
              HasSubstr("rope_parameters.rope_type is \"default\": \"yarn\" beside llama_4"));
  Json linear = plain;
  linear["rope_type"] = "linear";
  linear["factor"] = 2.0;
  EXPECT_THAT(refusal_of_row("ministral3", {{"rope_parameters", linear}}),
              HasSubstr("\"yarn\" beside"));
  linear["llama_4_scaling_beta"] = 0.0;
  EXPECT_EQ(refusal_of_row("ministral3", {{"rope_parameters", linear}}), "");
}

TEST(DecoderHub, FreezesTheRowOfPaddingAsItsClassDoes) {
  const auto pad = [](const std::string& name, const std::optional<Json>& value) {
    Json json = hub_of(name);
    json.erase("pad_token_id");
    if (value) json["pad_token_id"] = *value;
    return decoder_of(read(json)).padding;
  };
  EXPECT_EQ(pad("llama_a", 5), 5);
  EXPECT_EQ(pad("llama_a", -1), 130) << "counted from the end, as PyTorch does";
  EXPECT_EQ(pad("llama_a", nullptr), -1);
  EXPECT_EQ(pad("llama_a", {}), -1);
  EXPECT_EQ(pad("gemma2", {}), 0) << "the class's own";
  EXPECT_EQ(pad("gemma2", nullptr), -1);
  EXPECT_EQ(pad("olmo3", {}), 1);
  EXPECT_EQ(pad("ministral3", {}), 11);
  EXPECT_THAT(refusal_of_row("llama_a", {{"pad_token_id", 131}}),
              HasSubstr("pad_token_id is 131: an id below vocab_size, 131, or null"));
  Json phi3 = hub_of("phi3");
  phi3.erase("pad_token_id");
  EXPECT_THAT(refusal_of_row(phi3), HasSubstr("pad_token_id: is missing")) << "its class has 32000";
}

TEST(DecoderHub, RefusesMoreParametersThanCountsHold) {
  const auto too_many = [](const Json& more) { return refusal_of_row("llama_a", more); };
  EXPECT_THAT(too_many({{"head_dim", 1'000'000},
                        {"num_attention_heads", 1'000'000},
                        {"num_key_value_heads", 1'000'000},
                        {"hidden_size", 1'000'000}}),
              HasSubstr("num_attention_heads is 1000000: a model of at most 1e+13 parameters"));
  EXPECT_THAT(too_many({{"intermediate_size", 100'000'000}, {"hidden_size", 1'000'000}}),
              HasSubstr("intermediate_size is 100000000: a model of at most"));
  EXPECT_THAT(too_many({{"vocab_size", 100'000'000}, {"hidden_size", 1'000'000}}),
              HasSubstr("vocab_size is 100000000: a model of at most"));
  EXPECT_THAT(too_many({{"hidden_size", int64_t(1) << 40}}), HasSubstr("write 1 to 1000000"));
  EXPECT_EQ(too_many({{"hidden_size", 16'384}, {"vocab_size", 300'000}}), "");
}

TEST(DecoderHub, KeepsIdsAndTheirLists) {
  Json json = hub_of("llama_a");
  json["eos_token_id"] = {7, 9};
  json["pad_token_id"] = 3;
  const Architecture model = read(json);
  EXPECT_EQ(data_form(model).ids.end, 7);
  EXPECT_EQ(written(model)["eos_token_id"], (Json{7, 9}));
  EXPECT_EQ(written(model)["pad_token_id"], 3);
  EXPECT_EQ(written(model)["bos_token_id"], 1);
}

TEST(DecoderHub, SaysWhyOtherModelsAreNotBuilt) {
  const auto why = [](const std::string& type) {
    return refusal_of_row(Json{{"model_type", type}, {"hidden_size", 8}});
  };
  EXPECT_THAT(why("gemma3"), HasSubstr("text_config"));
  EXPECT_THAT(why("qwen3_5"), HasSubstr("delta rule"));
  EXPECT_THAT(why("gpt_oss"), HasSubstr("sinks"));
  EXPECT_THAT(why("qwen3_moe"), HasSubstr("experts"));
  EXPECT_THAT(why("cohere2"), HasSubstr("rotation"));
  EXPECT_THAT(why("nothing_known"), HasSubstr("only \"gpt2\", "));
}

}  // namespace
}  // namespace zero::model
