// Ranks: 1

#include "zero/model/family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::model {
namespace {

using testing_support::catalogue;

/// The number of parameters of a size.
int64_t parameters(std::string_view name) {
  RunConfig config = testing_support::unset_config();
  config.model.name = name;
  return parameter_count(architecture_of(config));
}

TEST(Sizes, HaveThePublishedParameterCounts) {
  EXPECT_EQ(parameters("gpt2"), 124'439'808);
  EXPECT_EQ(parameters("gpt2-xl"), 1'557'611'200);
  // Megatron's vocabulary is padded to 50304; its 1.5 B is gpt2-xl otherwise.
  EXPECT_EQ(parameters("gpt2_1.5b"), 1'557'611'200 + (50304 - 50257) * 1600);
  EXPECT_EQ(parameters("gpt2_10b"), 10'279'239'680);
}

TEST(Sizes, HaveAGraphAndOneNumberForEachKey) {
  for (const ModelFamily& family : catalogue().models) {
    for (const ModelSize& size : family.sizes) {
      ASSERT_EQ(size.counts.size(), family.counts.size()) << size.name;
      RunConfig config = testing_support::unset_config();
      config.model.name = size.name;
      const graph::Graph graph =
          forward(architecture_of(config),
                  {.micro = {.samples = 1, .length = 1}, .compute = Dtype::f32, .training = false});
      int64_t real = 0;
      for (const graph::Parameter& each : graph.parameters) {
        // A buffer, which published counts leave out.
        if (graph[each.tensor].name != "final_logits_bias") real += each.real_numel;
      }
      EXPECT_EQ(real, parameter_count(architecture_of(config))) << size.name;
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
  EXPECT_EQ(fact(model), "gpt2 of 1 layers of 8 with 2 heads, 10 tokens, 4 positions")
      << "as in checkpoints of any age";
  EXPECT_EQ(words(model), "1 layer of 8 with 2 heads, 10 tokens, 4 positions, epsilon 1e-05");
}

TEST(Architectures, OfAnUnknownTypeAreRefusedWithThoseThatAreKnown) {
  HubConfig hub(R"({"model_type": "llama"})", "config.json");
  EXPECT_EQ(
      testing_support::refusal_of(Exit::kInput, [&] { architecture_in(catalogue(), hub); }),
      "config.json: model_type: is not readable: only \"gpt2\", \"t5\" or \"blenderbot\" as in "
      "a GPT2LMHeadModel, T5ForConditionalGeneration or BlenderbotForConditionalGeneration");
}

TEST(Catalogues, NameTheirFamilies) {
  EXPECT_EQ(catalogue().titles(), "GPT-2, T5 or BlenderBot");
  EXPECT_EQ(catalogue().models.front().functions, catalogue().families.front());
}

TEST(Catalogues, FindTheKindOfDataOfEachFamily) {
  EXPECT_EQ(catalogue().models.front().data, &token_data());
  EXPECT_EQ(catalogue().models.back().data, &pair_data());
  EXPECT_THAT(testing_support::refusal_of(Exit::kInternal, [] { Catalogue({&gpt2_family()}, {}); }),
              ::testing::HasSubstr("GPT-2 wants data of a kind tokens, which is not there"));
}

}  // namespace
}  // namespace zero::model
