// Ranks: 1

#include "src/model/t5.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/forward_of.hpp"
#include "tests/support/models.hpp"
#include "tests/support/pair_trial.hpp"
#include "tests/support/refusal.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using testing_support::catalogue;
using testing_support::parameters;
using testing_support::refusal_of;

constexpr T5 kSmall{.layers = 2,
                    .decoder_layers = 3,
                    .width = 16,
                    .heads = 2,
                    .head_width = 4,
                    .inner = 32,
                    .vocabulary = 70};

T5 own_head(T5 model) {
  model.gated = true;
  model.tied = false;
  return model;
}

graph::Graph small_graph(const T5& model) {
  return forward_of(model, {.micro = {.samples = 2, .length = 5, .source_length = 7},
                            .compute = Dtype::f32,
                            .training = true});
}

TEST(T5, ReproducesLossAndGradientsOfHuggingFace) {
  for (const char* name : {"t5_a", "t5_b", "t5_c"}) {
    testing_support::expect_golden_pairs(name);
    testing_support::expect_golden_pairs(name, 24);  // heads that end with zeros
  }
}

TEST(T5, HasThePublishedParameterCounts) {
  EXPECT_EQ(parameters("t5-small"), 60'506'624);
  EXPECT_EQ(parameters("t5-base"), 222'903'552);
  EXPECT_EQ(parameters("t5-large"), 737'668'096);
  EXPECT_EQ(parameters("t5-3b"), 2'851'598'336);
  EXPECT_EQ(parameters("t5-11b"), 11'307'321'344);
  EXPECT_EQ(parameters("t5-v1_1-base"), 247'577'856);
}

/// What Transformers' T5ForConditionalGeneration holds of such a size, without copies.
std::set<std::string> hugging_face_names(const T5& model) {
  std::set<std::string> names = {"shared.weight", "encoder.final_layer_norm.weight",
                                 "decoder.final_layer_norm.weight"};
  if (!model.tied) names.insert("lm_head.weight");
  for (const std::string stack : {"encoder", "decoder"}) {
    const bool decodes = stack == "decoder";
    const int64_t layers = decodes ? model.decoder_layers : model.layers;
    names.insert(stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight");
    for (int64_t i = 0; i < layers; ++i) {
      const std::string block = text(stack, ".block.", i, ".layer.");
      for (int layer = 0; layer < (decodes ? 3 : 2); ++layer) {
        names.insert(text(block, layer, ".layer_norm.weight"));
      }
      for (const char part : {'q', 'k', 'v', 'o'}) {
        names.insert(text(block, "0.SelfAttention.", part, ".weight"));
        if (decodes) names.insert(text(block, "1.EncDecAttention.", part, ".weight"));
      }
      const std::string dense = text(block, decodes ? 2 : 1, ".DenseReluDense.");
      names.insert(dense + "wo.weight");
      if (!model.gated) names.insert(dense + "wi.weight");
      if (model.gated) names.insert({dense + "wi_0.weight", dense + "wi_1.weight"});
    }
  }
  return names;
}

TEST(T5, AccountsForEveryTensorOfHuggingFacesFiles) {
  for (const T5& model : {kSmall, own_head(kSmall)}) {
    std::set<std::string> stored;
    const graph::Graph graph = small_graph(model);
    for (const graph::Parameter& parameter : graph.parameters) {
      for (const std::string& name : stored_form(model, graph[parameter.tensor].name).names) {
        EXPECT_TRUE(stored.insert(name).second) << name;
      }
    }
    EXPECT_EQ(stored, hugging_face_names(model));
  }
}

TEST(T5, StoresLinearLayersTransposedAndTablesAsTheyAre) {
  const Architecture model = kSmall;
  const std::string block = "decoder.block.1.layer.";
  EXPECT_EQ(stored_form(model, block + "0.SelfAttention.qkv.weight"),
            (StoredForm{{block + "0.SelfAttention.q.weight", block + "0.SelfAttention.k.weight",
                         block + "0.SelfAttention.v.weight"},
                        true}));
  EXPECT_EQ(
      stored_form(model, block + "1.EncDecAttention.kv.weight"),
      (StoredForm{{block + "1.EncDecAttention.k.weight", block + "1.EncDecAttention.v.weight"},
                  true}));
  for (const std::string part : {"0.SelfAttention.o", "1.EncDecAttention.q", "2.DenseReluDense.wi",
                                 "2.DenseReluDense.wi_1", "2.DenseReluDense.wo"}) {
    EXPECT_TRUE(stored_form(model, block + part + ".weight").transposed) << part;
  }
  for (const std::string name :
       {"shared.weight", "lm_head.weight", "decoder.block.0.layer.0.layer_norm.weight",
        "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}) {
    EXPECT_TRUE(stored_form(model, name).is_plain()) << name;
  }
}

TEST(T5, KeepsWhatBothStacksReadInOneUnitAndEachBlockInItsOwn) {
  const graph::Graph graph = small_graph(own_head(kSmall));
  EXPECT_THAT(
      graph.unit_names,
      ::testing::ElementsAre("shared", "encoder.block.0", "encoder.block.1", "decoder.block.0",
                             "decoder.block.1", "decoder.block.2", "lm_head"));
  EXPECT_EQ(graph.blocks, (std::vector<int32_t>{1, 2, 3, 4, 5}));
  int64_t real = 0;
  for (const graph::Parameter& each : graph.parameters) real += each.real_numel;
  EXPECT_EQ(real, parameter_count({own_head(kSmall)}));
}

TEST(T5, BeginsAsTransformersDoes) {
  const graph::Graph graph = small_graph(own_head(kSmall));
  const auto deviation = [&](const std::string& name, int64_t element) {
    const auto found = std::ranges::find_if(graph.parameters, [&](const graph::Parameter& each) {
      return graph[each.tensor].name == name;
    });
    return found->deviation_of(element);
  };
  EXPECT_EQ(deviation("shared.weight", 0), 1.0f);
  EXPECT_EQ(deviation("lm_head.weight", 0), 1.0f);
  const std::string block = "decoder.block.0.layer.";
  // A row is 8 queries, 8 keys and 8 values.
  EXPECT_EQ(deviation(block + "0.SelfAttention.qkv.weight", 24 + 7), 0.125f) << "1 / sqrt(16 x 4)";
  EXPECT_EQ(deviation(block + "0.SelfAttention.qkv.weight", 24 + 8), 0.25f) << "1 / sqrt(16)";
  EXPECT_EQ(deviation(block + "1.EncDecAttention.q.weight", 3), 0.125f);
  EXPECT_EQ(deviation(block + "1.EncDecAttention.kv.weight", 3), 0.25f);
  EXPECT_FLOAT_EQ(deviation(block + "0.SelfAttention.o.weight", 3), 1 / std::sqrt(8.0f));
  EXPECT_FLOAT_EQ(deviation(block + "2.DenseReluDense.wo.weight", 3), 1 / std::sqrt(32.0f));
  EXPECT_EQ(deviation(block + "0.SelfAttention.relative_attention_bias.weight", 0), 0.25f);
}

TEST(T5, DecaysMatricesAndTheTableOfTokensAlone) {
  const graph::Graph graph = small_graph(kSmall);
  for (const graph::Parameter& parameter : graph.parameters) {
    const std::string& name = graph[parameter.tensor].name;
    EXPECT_EQ(parameter.decays, !name.ends_with("norm.weight") && !name.ends_with("bias.weight"))
        << name;
  }
}

TEST(T5, CountsTheOperationsOfBothStacks) {
  // By hand: one layer each, width 2, one head of 3, inner 5, 7 tokens; 4 of source, 2 of target.
  const T5 model{.layers = 1,
                 .decoder_layers = 1,
                 .width = 2,
                 .heads = 1,
                 .head_width = 3,
                 .inner = 5,
                 .vocabulary = 7};
  const double attention = 2 + 4 * 2 * 3, feed = 2 + 2 * 2 * 5, across = 2 * 2 * 3;
  const double products =
      4 * (attention + feed + across) + 2 * (2 * attention - across + feed + 7 * 2);
  const double scores = 3 * (4 * 4 + 2 * 4 + 2 * 2 / 2.0);
  const graph::MicroBatch micro{.samples = 3, .length = 2, .source_length = 4};
  EXPECT_DOUBLE_EQ(flops_per_token({model}, micro), (6 * products + 12 * scores) / 2);
}

TEST(T5, ComesBackFromItsConfigJson) {
  T5 unscaled = kSmall, scaled = own_head(kSmall);
  unscaled.scales_otherwise = scaled.scales_otherwise = true;
  for (const Architecture& model : {Architecture(kSmall), Architecture(own_head(kSmall)),
                                    Architecture(unscaled), Architecture(scaled)}) {
    std::string json;
    for (const HubEntry& entry : model.family->to_hub(model, "float32")) {
      json += text(json.empty() ? "{" : ", ", '"', entry.key, "\": ", entry.json);
    }
    HubConfig hub(json + "}", "config.json");
    EXPECT_TRUE(architecture_in(catalogue(), hub) == model);
  }
}

TEST(T5, IsReadFromAConfigJsonOfTheFirstCheckpoints) {
  HubConfig hub(R"({"architectures": ["T5WithLMHeadModel"], "d_ff": 2048, "d_kv": 64,
    "d_model": 512, "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1,
    "initializer_factor": 1.0, "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06,
    "model_type": "t5", "n_positions": 512, "num_heads": 8, "num_layers": 6,
    "output_past": true, "pad_token_id": 0, "relative_attention_num_buckets": 32,
    "task_specific_params": {"translation_en_to_ro": {"early_stopping": true, "max_length": 300,
    "num_beams": 4, "prefix": "translate English to Romanian: "}}, "vocab_size": 32128})",
                "config.json");
  RunConfig config = testing_support::unset_config();
  config.model.name = "t5-small";
  EXPECT_TRUE(architecture_in(catalogue(), hub).numbers.counts ==
              architecture_of(config).numbers.counts);
}

TEST(T5, OfTransformers5SaysByTheScaleAloneHowItsClassifierReads) {
  const auto classifier = [](const std::string& more) {
    HubConfig hub(R"({"model_type": "t5", "num_layers": 1, "d_model": 8, "num_heads": 2, "d_kv": 4,
      "d_ff": 8, "vocab_size": 9, "relative_attention_num_buckets": 8)" +
                      more + "}",
                  "config.json");
    const Architecture model = architecture_in(catalogue(), hub);
    const std::string words = model::words({model}),
                      last = words.substr(0, words.rfind(", epsilon"));
    return last.substr(last.rfind(", ") + 2);
  };
  EXPECT_EQ(classifier(""), "tied classifier");
  EXPECT_EQ(classifier(R"(, "tie_word_embeddings": false)"), "untied classifier");
  EXPECT_EQ(classifier(R"(, "scale_decoder_outputs": true)"), "tied classifier");
  EXPECT_EQ(classifier(R"(, "scale_decoder_outputs": false)"), "tied unscaled classifier");
  EXPECT_EQ(classifier(R"(, "tie_word_embeddings": true, "scale_decoder_outputs": false)"),
            "tied unscaled classifier");
  EXPECT_EQ(classifier(R"(, "tie_word_embeddings": true, "scale_decoder_outputs": true)"),
            "tied classifier");
  EXPECT_EQ(classifier(R"(, "tie_word_embeddings": false, "scale_decoder_outputs": true)"),
            "untied scaled classifier");
}

TEST(T5, ScalesWhatItsClassifierReadsAsThoseWordsSay) {
  const auto scale = [](bool tied, bool otherwise) {
    T5 model = kSmall;
    model.tied = tied;
    model.scales_otherwise = otherwise;
    const graph::Graph graph = small_graph(model);
    for (const graph::Op& op : graph.ops) {
      if (op.kind == &graph::kClassifier)
        return op.attributes.as<graph::ClassifierAttributes>().logit_scale;
    }
    return 0.0;
  };
  EXPECT_EQ(scale(true, false), 0.25) << "1 / sqrt(16)";
  EXPECT_EQ(scale(false, false), 1);
  EXPECT_EQ(scale(true, true), 1);
  EXPECT_EQ(scale(false, true), 0.25);
}

TEST(T5, TakesTheDropoutOfItsConfigJsonOrOfItsClass) {
  const auto rate = [](const std::string& more) {
    HubConfig hub(R"({"model_type": "t5", "num_layers": 1, "d_model": 8, "num_heads": 2, "d_kv": 4,
      "d_ff": 8, "vocab_size": 9, "relative_attention_num_buckets": 8)" +
                      more + "}",
                  "config.json");
    EXPECT_EQ(mixed_dropout(t5_family(), hub), "");
    return float(architecture_in(catalogue(), hub).numbers.rate("dropout"));
  };
  EXPECT_EQ(rate(""), 0.1f);
  EXPECT_EQ(rate(R"(, "dropout_rate": 0.0)"), 0.0f);
  EXPECT_EQ(rate(R"(, "dropout_rate": 0.25)"), 0.25f);
}

TEST(T5, OfAnotherNetworkIsRefused) {
  const auto refusal = [](const std::string& more) {
    HubConfig hub(R"({"model_type": "t5", "num_layers": 1, "d_model": 8, "num_heads": 2, "d_kv": 4,
      "d_ff": 8, "vocab_size": 9, "relative_attention_num_buckets": 8)" +
                      more + "}",
                  "config.json");
    return refusal_of(Exit::kInput, [&] { architecture_in(catalogue(), hub); });
  };
  EXPECT_EQ(refusal(""), "") << "such a one is read";
  EXPECT_THAT(refusal(R"(, "feed_forward_proj": "gated-silu")"),
              HasSubstr("only \"relu\" or \"gated-gelu\" as in a T5ForConditionalGeneration"));
  EXPECT_THAT(refusal(R"(, "decoder_start_token_id": 2)"), HasSubstr("only 0"));
  EXPECT_THAT(refusal(R"(, "relative_attention_max_distance": 4)"),
              HasSubstr("more than half the buckets"));
  EXPECT_THAT(refusal(R"(, "tie_word_embeddings": 3)"), HasSubstr("write true or false"));
}

TEST(T5, WritesTextsWithTheSameParameters) {
  for (const T5& model : {kSmall, own_head(kSmall)})
    testing_support::expect_both_sides(model, small_graph(model));
}

}  // namespace
}  // namespace zero::model
