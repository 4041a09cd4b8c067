// Ranks: 1

#include "zero/model/family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/operations.hpp"
#include "zero/model/objective.hpp"
#include "zero/model/recipe.hpp"

namespace zero::model {
namespace {

using testing_support::catalogue;
using testing_support::parameters;

TEST(Sizes, HaveThePublishedParameterCounts) {
  EXPECT_EQ(parameters("gpt2"), 124'439'808);
  EXPECT_EQ(parameters("gpt2-xl"), 1'557'611'200);
  // Megatron's vocabulary is padded to 50304; its 1.5 B is gpt2-xl otherwise.
  EXPECT_EQ(parameters("gpt2_1.5b"), 1'557'611'200 + (50304 - 50257) * 1600);
  EXPECT_EQ(parameters("gpt2_10b"), 10'279'239'680);
}

struct Dropouts {
  int ops = 0;         ///< of hidden states
  int attentions = 0;  ///< of probabilities

  bool operator==(const Dropouts&) const = default;
};

/// Places of a graph that drop by this probability.
Dropouts dropouts_of(const graph::Graph& graph, double probability) {
  Dropouts found;
  for (const graph::Op& op : graph.ops) {
    if (op.kind == &graph::kDropoutAdd) {
      found.ops += op.attributes.as<graph::DropoutAttributes>().probability == probability;
    }
    found.ops += op.kind == &graph::kDropRows;
    if (op.kind == &graph::kDisentangledAttention)
      found.attentions += op.kind->draws(graph, op) > 0;
    if (op.kind == &graph::kAttention || op.kind == &graph::kCrossAttention) {
      const auto& attention = op.attributes.as<graph::AttentionAttributes>();
      found.attentions += attention.dropout.probability == probability;
    }
  }
  return found;
}

Dropouts dropouts_of(const std::string& size, bool training) {
  RunConfig config = testing_support::unset_config();
  config.model.name = size;
  config.model.numbers.rates["dropout"] = 0.25;
  const graph::MicroBatch micro{.samples = 1, .length = 8, .source_length = 8};
  return dropouts_of(
      graph_of(recipe_of(config), training ? Purpose::train : Purpose::evaluate, {.micro = micro}),
      0.25);
}

/// As `modeling_*.py` of Transformers has them: the embedding, then each layer's branches; T5 also
/// within feed-forwards and behind each stack. BlenderBot's probabilities have a rate of their own.
/// DeBERTa drops its table in each layer, its convolution, and what its classifier reads.
TEST(Families, DropWhereTransformersDrops) {
  EXPECT_EQ(dropouts_of("gpt2", true), (Dropouts{.ops = 1 + 12 * 2, .attentions = 12}));
  EXPECT_EQ(dropouts_of("t5-small", true),
            (Dropouts{.ops = (1 + 6 * 3 + 1) + (1 + 6 * 4 + 1), .attentions = 6 + 2 * 6}));
  EXPECT_EQ(dropouts_of("blenderbot-400M-distill", true),
            (Dropouts{.ops = (1 + 2 * 2) + (1 + 12 * 3)}));
  EXPECT_EQ(dropouts_of("deberta-v3-small", true),
            (Dropouts{.ops = 1 + 6 * 3 + 1, .attentions = 6}));
  EXPECT_EQ(dropouts_of("deberta-v2-xlarge", true),
            (Dropouts{.ops = 1 + 24 * 3 + 1 + 1, .attentions = 24}));
  for (const char* size : {"gpt2", "t5-small", "blenderbot-400M-distill", "deberta-v2-xlarge"}) {
    EXPECT_EQ(dropouts_of(size, false), Dropouts{}) << size << " in evaluation";
  }
}

TEST(Sizes, HaveAGraphAndOneNumberForEachKey) {
  for (const ModelFamily& family : catalogue().models) {
    for (const ModelSize& size : family.sizes) {
      const auto own = std::ranges::count_if(
          family.counts, [](const ModelCount& count) { return count.by_task == nullptr; });
      ASSERT_EQ(int64_t(size.counts.size()), own) << size.name;
      for (size_t i = 0; i < size.counts.size(); ++i)
        EXPECT_EQ(family.counts[i].by_task, nullptr) << "those of the task come last";
      RunConfig config = testing_support::unset_config();
      config.model.name = size.name;
      const graph::Graph graph = graph_of(recipe_of(config), Purpose::store);
      int64_t real = 0;
      for (const graph::Parameter& each : graph.parameters) {
        // A buffer, which published counts leave out.
        if (graph[each.tensor].name != "final_logits_bias") real += each.real_numel;
      }
      EXPECT_EQ(real, parameter_count(recipe_of(config))) << size.name;
    }
  }
}

TEST(Architectures, OfSettingsAndOfTheirConfigJsonAreEqual) {
  RunConfig config = testing_support::unset_config();
  config.model.name = "gpt2-medium";
  const Architecture model = architecture_of(config);
  std::string json;
  for (const HubEntry& entry : model.family->to_hub(model, "float32")) {
    json += text(json.empty() ? "{" : ", ", '"', entry.key, "\": ", entry.json);
  }
  HubConfig hub(json + "}", "config.json");
  EXPECT_TRUE(architecture_in(catalogue(), hub) == model);
}

TEST(Architectures, AreSaidInAFactAndInWords) {
  const Gpt2 model{.layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .positions = 4};
  EXPECT_EQ(fact({model}), "gpt2 of 1 layers of 8 with 2 heads, 10 tokens, 4 positions")
      << "as in checkpoints of any age";
  EXPECT_EQ(words({model}), "1 layer of 8 with 2 heads, 10 tokens, 4 positions, epsilon 1e-05");
}

TEST(Architectures, OfAnUnknownTypeAreRefusedWithThoseThatAreKnown) {
  HubConfig hub(R"({"model_type": "mamba"})", "config.json");
  EXPECT_THAT(
      testing_support::refusal_of(Exit::kInput, [&] { architecture_in(catalogue(), hub); }),
      ::testing::AllOf(
          ::testing::StartsWith("config.json: model_type is \"mamba\": only \"gpt2\", "
                                "\"t5\", \"blenderbot\", \"deberta-v2\", \"llama\", "),
          ::testing::EndsWith(" as in a model that is built here; a model with another value "
                              "computes what is not built here, so take another model")));
}

TEST(HubConfigs, ReadListsOfWordsAndNumberedOnes) {
  const HubConfig hub(R"({"list": ["b", "a"], "word": "c", "mixed": ["a", 1], "empty": [],
    "names": {"0": "no", "1": "yes"}, "gap": {"0": "no", "2": "yes"}, "whole": -3,
    "numbers": {"0": 5, "1": "yes"}, "twice": {"0": "no", "1": "no"}, "flags": {"0": true},
    "behind": {"1": "no"}})",
                      "config.json");
  using Words = std::vector<std::string>;
  EXPECT_EQ(hub.words("list"), (Words{"b", "a"}));
  EXPECT_EQ(hub.words("word"), Words{"c"});
  EXPECT_EQ(hub.words("empty"), Words());
  EXPECT_EQ(hub.words("none"), Words());
  EXPECT_EQ(hub.numbered_words("names"), (Words{"no", "yes"}));
  EXPECT_EQ(hub.numbered_words("none"), Words());
  EXPECT_EQ(hub.whole_or("whole", 1), -3);
  EXPECT_EQ(hub.whole_or("none", 1), 1);
  const auto refusal = [](const auto& read) {
    return testing_support::refusal_of(Exit::kInput, read);
  };
  EXPECT_THAT(refusal([&] { hub.words("mixed"); }), ::testing::HasSubstr("write strings"));
  EXPECT_THAT(refusal([&] { hub.whole_or("word", 1); }), ::testing::HasSubstr("write an integer"));
  EXPECT_THAT(
      refusal([&] { hub.numbered_words("gap"); }),
      ::testing::HasSubstr("gap: has 2 keys, and none \"1\" with a name; write a name for"));
  EXPECT_THAT(refusal([&] { hub.numbered_words("behind"); }),
              ::testing::HasSubstr("behind: has 1 key, and none \"0\" with a name"));
  EXPECT_EQ(hub.numbered_words("numbers"), (Words{"5", "yes"}));
  EXPECT_THAT(refusal([&] { hub.numbered_words("twice"); }),
              ::testing::HasSubstr("twice.1: \"no\" is the name of an earlier key too"));
  EXPECT_THAT(refusal([&] { hub.numbered_words("flags"); }),
              ::testing::HasSubstr("flags.0: true is no name; write a string"));
}

TEST(Catalogues, NameTheirFamilies) {
  EXPECT_THAT(catalogue().titles(),
              ::testing::StartsWith("GPT-2, T5, BlenderBot, DeBERTa, Llama, Qwen2, "));
  EXPECT_EQ(catalogue().models.front().functions, catalogue().families.front());
}

TEST(Catalogues, FindTheObjectivesOfEachFamily) {
  EXPECT_EQ(catalogue().models.front().objectives[1].functions, &next_token_objective());
  EXPECT_EQ(catalogue().models[2].objectives[1].functions, &span_objective());
  EXPECT_THAT(testing_support::refusal_of(Exit::kInternal, [] { Catalogue({&gpt2_family()}, {}); }),
              ::testing::HasSubstr("GPT-2 learns documents, an objective which is not there"));
}

}  // namespace
}  // namespace zero::model
