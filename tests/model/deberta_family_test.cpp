// Ranks: 1
// config.json of a DeBERTa: read, refused and written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "src/model/deberta.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using testing_support::catalogue;
using testing_support::refusal_of;

using Entries = std::map<std::string, std::string>;

/// The configuration file of deberta-v2-xlarge.
const Entries kXlarge = {{"model_type", R"("deberta-v2")"},
                         {"attention_probs_dropout_prob", "0.1"},
                         {"hidden_act", R"("gelu")"},
                         {"hidden_dropout_prob", "0.1"},
                         {"hidden_size", "1536"},
                         {"initializer_range", "0.02"},
                         {"intermediate_size", "6144"},
                         {"max_position_embeddings", "512"},
                         {"relative_attention", "true"},
                         {"position_buckets", "256"},
                         {"norm_rel_ebd", R"("layer_norm")"},
                         {"share_att_key", "true"},
                         {"pos_att_type", R"("p2c|c2p")"},
                         {"layer_norm_eps", "1e-7"},
                         {"conv_kernel_size", "3"},
                         {"conv_act", R"("gelu")"},
                         {"max_relative_positions", "-1"},
                         {"position_biased_input", "false"},
                         {"num_attention_heads", "24"},
                         {"attention_head_size", "64"},
                         {"num_hidden_layers", "24"},
                         {"type_vocab_size", "0"},
                         {"vocab_size", "128100"}};

std::string json_of(const Entries& entries) {
  std::string json;
  for (const auto& [key, value] : entries)
    json += text(json.empty() ? "{" : ", ", '"', key, "\": ", value);
  return json + "}";
}

Entries with(const std::string& key, const std::string& value) {
  Entries entries = kXlarge;
  entries[key] = value;
  return entries;
}

Entries without(const std::string& key) {
  Entries entries = kXlarge;
  entries.erase(key);
  return entries;
}

ModelNumbers read_entries(const Entries& entries) {
  HubConfig hub(json_of(entries), "config.json");
  return architecture_in(catalogue(), hub).numbers;
}

std::string refusal_of_entries(const Entries& entries) {
  return refusal_of(Exit::kInput, [&] { read_entries(entries); });
}

TEST(DebertaConfigs, OfThePublishedModelsAreRead) {
  RunConfig config = testing_support::unset_config();
  config.model.name = "deberta-v2-xlarge";
  EXPECT_TRUE(read_entries(kXlarge).counts == architecture_of(config).numbers.counts);
  Entries v3 = without("conv_kernel_size");
  v3["num_hidden_layers"] = "12", v3["hidden_size"] = v3["pooler_hidden_size"] = "768";
  v3["num_attention_heads"] = "12", v3["intermediate_size"] = "3072";
  v3["pooler_dropout"] = "0", v3["pooler_hidden_act"] = R"("gelu")";
  config.model.name = "deberta-v3-base";
  EXPECT_TRUE(read_entries(v3).counts == architecture_of(config).numbers.counts);
}

TEST(DebertaConfigs, ComeBackAsTheyWereWritten) {
  Deberta model{.layers = 2, .width = 16, .heads = 2, .inner = 24, .vocabulary = 70};
  for (const int64_t labels : {1, 2, 11}) {
    for (const bool convolves : {false, true}) {
      model.labels = labels;
      model.convolves = convolves;
      model.buckets = 32, model.distance = 200;
      model.dropout = 0.25f, model.epsilon = 1e-6f;
      const Architecture before = model;
      Entries entries;
      for (const HubEntry& entry : before.family->to_hub(before, "float32"))
        entries[entry.key] = entry.json;
      HubConfig hub(json_of(entries), "config.json");
      EXPECT_TRUE(architecture_in(catalogue(), hub) == before);
      EXPECT_EQ(mixed_dropout(deberta_family(), hub), "");
      EXPECT_EQ(int64_t(hub.numbered_words("id2label").size()), labels);
    }
  }
}

TEST(DebertaConfigs, SayTheirLabelsByNamesOrByNumber) {
  const auto labels = [](const std::string& key, const std::string& value) {
    return read_entries(with(key, value)).count("labels");
  };
  EXPECT_EQ(read_entries(kXlarge).count("labels"), 2);
  EXPECT_EQ(labels("num_labels", "1"), 1);
  EXPECT_EQ(labels("id2label", R"({"0": "a", "1": "b", "2": "c"})"), 3);
  Entries both = with("id2label", R"({"0": "a", "1": "b", "2": "c"})");
  both["num_labels"] = "2";
  EXPECT_THAT(refusal_of_entries(both),
              HasSubstr("num_labels is 2: only 3, as many as id2label has names"));
}

TEST(DebertaConfigs, MayHaveTheWordsOfAList) {
  for (const char* words : {R"(["p2c", "c2p"])", R"(["c2p", "p2c"])", R"("c2p | P2C")"})
    EXPECT_EQ(refusal_of_entries(with("pos_att_type", words)), "") << words;
  for (const char* words : {R"("c2p")", R"(["p2c"])", R"("p2c|c2p|p2p")", R"(["p2c", "p2p"])",
                            "null", R"(["c2p", "c2p"])"})
    EXPECT_THAT(refusal_of_entries(with("pos_att_type", words)), HasSubstr("only \"p2c|c2p\""))
        << words;
}

TEST(DebertaConfigs, TakeTheLengthOfTheTableFromEitherKey) {
  EXPECT_EQ(read_entries(with("max_relative_positions", "300")).count("relative_distance"), 300);
  EXPECT_EQ(read_entries(without("max_relative_positions")).count("relative_distance"), 512);
  EXPECT_EQ(read_entries(with("max_position_embeddings", "1024")).count("relative_distance"), 1024);
  EXPECT_EQ(read_entries(without("max_position_embeddings")).count("relative_distance"), 512);
  EXPECT_THAT(refusal_of_entries(with("max_relative_positions", "129")),
              HasSubstr("half of them below"));
}

TEST(DebertaConfigs, OfAnotherNetworkAreRefused) {
  EXPECT_EQ(refusal_of_entries(kXlarge), "") << "such a one is read";
  const auto wrong = [](const std::string& key, const std::string& value) {
    return refusal_of_entries(with(key, value));
  };
  EXPECT_THAT(wrong("share_att_key", "false"),
              HasSubstr("share_att_key is false: only true as in"));
  EXPECT_THAT(wrong("relative_attention", "false"), HasSubstr("only true"));
  EXPECT_THAT(wrong("position_biased_input", "true"), HasSubstr("only false"));
  EXPECT_THAT(wrong("type_vocab_size", "2"), HasSubstr("type_vocab_size is 2: only 0"));
  EXPECT_THAT(wrong("z_steps", "2"), HasSubstr("z_steps is 2: only 0"));
  EXPECT_EQ(wrong("z_steps", "0"), "");
  EXPECT_THAT(wrong("embedding_size", "768"), HasSubstr("only hidden_size = 1536"));
  EXPECT_THAT(wrong("pooler_hidden_size", "768"), HasSubstr("only hidden_size = 1536"));
  EXPECT_THAT(wrong("attention_head_size", "32"), HasSubstr("= 64"));
  EXPECT_THAT(wrong("hidden_act", R"("relu")"), HasSubstr("only \"gelu\""));
  EXPECT_THAT(wrong("pooler_hidden_act", R"("tanh")"), HasSubstr("only \"gelu\""));
  EXPECT_THAT(wrong("norm_rel_ebd", R"("none")"), HasSubstr("only \"layer_norm\""));
  EXPECT_THAT(wrong("position_buckets", "-1"), HasSubstr("position_buckets is -1"));
  EXPECT_THAT(wrong("conv_kernel_size", "5"), HasSubstr("only 3, or 0 for none"));
  EXPECT_THAT(wrong("conv_groups", "2"), HasSubstr("conv_groups is 2: only 1"));
  EXPECT_THAT(wrong("conv_act", R"("tanh")"), HasSubstr("only \"gelu\""));
  EXPECT_THAT(wrong("pad_token_id", "1"), HasSubstr("only 0"));
  EXPECT_THAT(wrong("is_decoder", "true"), HasSubstr("only false"));
  EXPECT_THAT(wrong("num_attention_heads", "7"), HasSubstr("a divisor of hidden_size"));
  EXPECT_THAT(wrong("problem_type", R"("multi_label_classification")"),
              HasSubstr("only \"single_label_classification\""));
  EXPECT_THAT(wrong("problem_type", R"("regression")"), HasSubstr("only \"single_label"));
  EXPECT_EQ(wrong("problem_type", "null"), "");
}

TEST(DebertaConfigs, ThatLeaveOutWhatTheClassHasOtherwiseAreRefused) {
  for (const char* key : {"relative_attention", "share_att_key", "position_biased_input",
                          "pos_att_type", "norm_rel_ebd", "position_buckets", "conv_act"})
    EXPECT_THAT(refusal_of_entries(without(key)), HasSubstr(text(key, ": is missing"))) << key;
  EXPECT_EQ(read_entries(without("conv_kernel_size")).count("convolution"), 1) << "none";
  EXPECT_EQ(read_entries(with("conv_kernel_size", "0")).count("convolution"), 1);
}

TEST(DebertaConfigs, SayWhichRatesOfDropoutNoSingleOneSays) {
  const auto mixed = [](const std::string& rates) {
    return mixed_dropout(deberta_family(), HubConfig("{" + rates + "}", "config.json"));
  };
  EXPECT_EQ(mixed(""), "");
  EXPECT_EQ(mixed(R"("hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2)"), "")
      << "the classifier's is the first";
  EXPECT_EQ(mixed(R"("cls_dropout": 0.1, "pooler_dropout": 0)"), "");
  EXPECT_THAT(mixed(R"("hidden_dropout_prob": 0.2)"),
              HasSubstr("attention_probs_dropout_prob 0.1, cls_dropout 0.2"));
  EXPECT_THAT(mixed(R"("cls_dropout": 0.15)"), HasSubstr("cls_dropout 0.15"));
  EXPECT_THAT(mixed(R"("pooler_dropout": 0.1)"), HasSubstr("pooler_dropout 0.1"));
}

}  // namespace
}  // namespace zero::model
