// Ranks: 1

#include "src/model/blenderbot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/forward_of.hpp"
#include "tests/support/models.hpp"
#include "tests/support/pair_trial.hpp"
#include "tests/support/refusal.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using testing_support::catalogue;
using testing_support::parameters;
using testing_support::refusal_of;

constexpr Blenderbot kSmall{.layers = 1,
                            .decoder_layers = 2,
                            .width = 12,
                            .heads = 2,
                            .inner = 16,
                            .decoder_inner = 20,
                            .vocabulary = 70,
                            .positions = 9};

graph::Graph small_graph() {
  return forward_of(kSmall, {.micro = {.samples = 2, .length = 5, .source_length = 7},
                             .compute = Dtype::f32,
                             .training = true});
}

TEST(Blenderbot, ReproducesLossAndGradientsOfHuggingFace) {
  for (const char* name : {"blenderbot_a", "blenderbot_b"}) {
    testing_support::expect_golden_pairs(name);
    testing_support::expect_golden_pairs(name, 8);  // heads of 5 that end with zeros
  }
}

TEST(Blenderbot, HasThePublishedParameterCounts) {
  EXPECT_EQ(parameters("blenderbot-400M-distill"), 364'802'560);
  // Per attention 4 C C + 6 C with its norm, per feed-forward 2 C F + F + 3 C, for C = 2560 and F =
  // 10240: a layer of the encoder has one of each, one of the decoder two attentions. Beside them
  // stand 8008 tokens, 128 positions a stack, and a norm of two vectors after each.
  constexpr int64_t kAttention = 26'229'760, kForward = 52'446'720, kBeside = 21'166'080;
  constexpr int64_t kEncoder = 2 * (kAttention + kForward), kLayer = 2 * kAttention + kForward;
  EXPECT_EQ(parameters("blenderbot-1B-distill"), kBeside + kEncoder + 12 * kLayer);
  EXPECT_EQ(parameters("blenderbot-1B-distill"), 1'437'393'920);
  EXPECT_EQ(parameters("blenderbot-3B"), kBeside + kEncoder + 24 * kLayer);
  EXPECT_EQ(parameters("blenderbot-3B"), 2'696'268'800);
}

/// What Transformers' BlenderbotForConditionalGeneration holds of such a size, without copies.
std::set<std::string> hugging_face_names() {
  std::set<std::string> names = {"model.shared.weight", "final_logits_bias"};
  for (const std::string stack : {"model.encoder", "model.decoder"}) {
    const bool decodes = stack == "model.decoder";
    names.insert({stack + ".embed_positions.weight", stack + ".layer_norm.weight",
                  stack + ".layer_norm.bias"});
    std::set<std::string> layers = {"self_attn.q_proj",
                                    "self_attn.k_proj",
                                    "self_attn.v_proj",
                                    "self_attn.out_proj",
                                    "self_attn_layer_norm",
                                    "fc1",
                                    "fc2",
                                    "final_layer_norm"};
    if (decodes) {
      layers.insert({"encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj",
                     "encoder_attn.out_proj", "encoder_attn_layer_norm"});
    }
    for (int64_t i = 0; i < (decodes ? kSmall.decoder_layers : kSmall.layers); ++i) {
      for (const std::string& layer : layers) {
        names.insert(text(stack, ".layers.", i, ".", layer, ".weight"));
        names.insert(text(stack, ".layers.", i, ".", layer, ".bias"));
      }
    }
  }
  return names;
}

TEST(Blenderbot, AccountsForEveryTensorOfHuggingFacesFiles) {
  std::set<std::string> stored;
  const graph::Graph graph = small_graph();
  for (const graph::Parameter& parameter : graph.parameters) {
    for (const std::string& name : stored_form(kSmall, graph[parameter.tensor].name).names) {
      EXPECT_TRUE(stored.insert(name).second) << name;
    }
  }
  EXPECT_EQ(stored, hugging_face_names());
}

TEST(Blenderbot, StoresLinearLayersTransposedAndTheBiasOfLogitsAsARow) {
  const std::string block = "model.decoder.layers.1.";
  EXPECT_EQ(
      stored_form(kSmall, block + "self_attn.qkv_proj.weight"),
      (StoredForm{.names = {block + "self_attn.q_proj.weight", block + "self_attn.k_proj.weight",
                            block + "self_attn.v_proj.weight"},
                  .transposed = true}));
  EXPECT_EQ(stored_form(kSmall, block + "encoder_attn.kv_proj.bias"),
            (StoredForm{.names = {block + "encoder_attn.k_proj.bias",
                                  block + "encoder_attn.v_proj.bias"}}));
  EXPECT_TRUE(stored_form(kSmall, block + "fc1.weight").transposed);
  EXPECT_TRUE(stored_form(kSmall, "model.encoder.embed_positions.weight").is_plain());
  const int64_t classes[] = {kSmall.vocabulary};
  EXPECT_EQ(stored_extents(stored_form(kSmall, "final_logits_bias"), classes, 0),
            (std::vector<int64_t>{1, 70}));
}

TEST(Blenderbot, NeitherDecaysNorMovesTheBiasOfLogits) {
  const graph::Graph graph = small_graph();
  for (const graph::Parameter& parameter : graph.parameters) {
    if (graph[parameter.tensor].name != "final_logits_bias") continue;
    EXPECT_FALSE(parameter.decays);
    EXPECT_EQ(parameter.init, graph::Init::zeros);
    EXPECT_EQ(parameter.real_numel, kSmall.vocabulary);
  }
}

TEST(Blenderbot, ComesBackFromItsConfigJson) {
  const Architecture model = kSmall;
  std::string json;
  for (const HubEntry& entry : model.family->to_hub(model, "float32")) {
    json += text(json.empty() ? "{" : ", ", '"', entry.key, "\": ", entry.json);
  }
  HubConfig hub(json + "}", "config.json");
  EXPECT_TRUE(architecture_in(catalogue(), hub) == model);
}

TEST(Blenderbot, OfAnotherNetworkIsRefused) {
  const auto refusal = [](const std::string& more) {
    HubConfig hub(
        R"({"model_type": "blenderbot", "encoder_layers": 1, "decoder_layers": 1, "d_model": 8,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8,
        "decoder_ffn_dim": 8, "vocab_size": 9, "max_position_embeddings": 4)" +
            more + "}",
        "config.json");
    return refusal_of(Exit::kInput, [&] { architecture_in(catalogue(), hub); });
  };
  EXPECT_EQ(refusal(R"(, "scale_embedding": true)"), "") << "such a one is read";
  EXPECT_THAT(refusal(""), HasSubstr("scale_embedding"));
  const std::string usual = R"(, "scale_embedding": true)";
  EXPECT_THAT(refusal(usual + R"(, "activation_function": "relu")"), HasSubstr("only \"gelu\""));
  EXPECT_EQ(refusal(usual + R"(, "attention_dropout": 0.1)"), "") << "it acts in training alone";
  EXPECT_THAT(refusal(usual + R"(, "eos_token_id": 1)"), HasSubstr("only 2"));
}

TEST(Blenderbot, SaysWhichRatesOfDropoutNoSingleOneSays) {
  const auto mixed = [](const std::string& rates) {
    return mixed_dropout(blenderbot_family(), HubConfig("{" + rates + "}", "config.json"));
  };
  EXPECT_EQ(mixed(""), "");
  EXPECT_EQ(mixed(R"("dropout": 0.3, "attention_dropout": 0.0, "encoder_layerdrop": 0.0)"), "");
  for (const std::string place :
       {"attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"}) {
    EXPECT_THAT(mixed(text(R"("dropout": 0.3, ")", place, R"(": 0.25)")),
                HasSubstr(text(place, " 0.25")));
  }
}

TEST(Blenderbot, SaysWhichIdsItsTextsAreMadeWith) {
  const DataForm form = data_form(kSmall);
  EXPECT_EQ(form.ids.pad, 0);
  EXPECT_EQ(form.ids.end, 2);
  EXPECT_EQ(form.ids.start, 1);
}

TEST(Blenderbot, HasNoRoomForTextsBeyondItsPositions) {
  const auto refusal = [](const graph::MicroBatch& micro) {
    return refusal_of(Exit::kUsage, [&] {
      forward_of(kSmall, {.micro = micro, .compute = Dtype::f32, .training = false});
    });
  };
  EXPECT_THAT(refusal({.samples = 1, .length = 10}), HasSubstr("the model has 9 positions"));
  EXPECT_THAT(refusal({.samples = 1, .length = 9, .source_length = 10}), HasSubstr("10 tokens"));
  const auto written = [](int64_t context, int64_t source_context) {
    return refusal_of(Exit::kUsage, [&] {
      const graph::Chunk chunk{
          .length = 1, .context = context, .source_context = source_context, .sources = 1};
      blenderbot_decode(kSmall, chunk, Dtype::f32);
    });
  };
  EXPECT_EQ(written(9, 9), "");
  EXPECT_THAT(written(10, 9), HasSubstr("texts of 10 tokens, but the model has 9 positions"));
  EXPECT_THAT(written(9, 10), HasSubstr("texts of 10 tokens"));
}

TEST(Blenderbot, WritesTextsWithTheSameParameters) {
  testing_support::expect_both_sides(kSmall, small_graph());
}

}  // namespace
}  // namespace zero::model
