// Ranks: 1

#include "src/model/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/decoder_trial.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using testing_support::catalogue;
using testing_support::golden_model;
using testing_support::kGoldenDecoders;
using testing_support::parameters;
using testing_support::refusal_of;
using testing_support::TrialOptions;

class GoldenDecoderOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rows, GoldenDecoderOf, ::testing::ValuesIn(kGoldenDecoders),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(GoldenDecoderOf, ReproducesLossAndGradientsOfHuggingFace) {
  const testing::GoldenDecoder golden = testing::load_golden_decoder(GetParam());
  testing_support::with_every_choice(GetParam(), 1, [&](const TrialOptions& options) {
    testing_support::expect_golden_decoder(golden, options);
  });
}

graph::Graph graph_with(const Architecture& model, int64_t length = 5) {
  return graph_of({.model = model}, Purpose::train, {.micro = {.samples = 2, .length = length}});
}

TEST_P(GoldenDecoderOf, HasTheTensorsOfHuggingFacesFiles) {
  const testing::GoldenDecoder golden = testing::load_golden_decoder(GetParam());
  const Architecture model = golden_model(golden.hub);
  std::map<std::string, std::vector<int64_t>> own, there;
  const graph::Graph graph = graph_with(model);
  int64_t numel = 0;
  for (const graph::Parameter& parameter : graph.parameters) {
    const std::vector<int64_t> extents = testing_support::real_extents(graph, parameter);
    for (size_t t = 0; t < parameter.stored.names.size(); ++t)
      own[parameter.stored.names[t]] = graph::stored_extents(parameter.stored, extents, t);
    numel += parameter.real_numel;
  }
  for (const testing::GoldenTensor& tensor : golden.tensors) there[tensor.name] = tensor.shape;
  EXPECT_EQ(own, there);
  EXPECT_EQ(numel, parameter_count({.model = model}));
}

TEST_P(GoldenDecoderOf, WritesTextsWithTheSameParameters) {
  const Architecture model = golden_model(testing::load_golden_decoder(GetParam()).hub);
  const graph::Graph training = graph_with(model);
  const graph::Graph decoding =
      graph_of({.model = model}, Purpose::decode, {.chunk = {.length = 2, .context = 4}});
  ASSERT_EQ(decoding.parameters.size(), training.parameters.size());
  for (size_t p = 0; p < training.parameters.size(); ++p) {
    const graph::Tensor& tensor = decoding[decoding.parameters[p].tensor];
    EXPECT_EQ(tensor.name, training[training.parameters[p].tensor].name);
    EXPECT_EQ(tensor.shape, training[training.parameters[p].tensor].shape);
  }
}

TEST(Decoder, HasThePublishedParameterCounts) {
  const std::map<std::string, int64_t> published = {
      {"llama2-7b", 6'738'415'616},      {"llama3.1-8b", 8'030'261'248},
      {"llama3-8b", 8'030'261'248},      {"llama3.1-70b", 70'553'706'496},
      {"llama3.2-1b", 1'235'814'400},    {"llama3.2-3b", 3'212'749'824},
      {"tinyllama-1.1b", 1'100'048'384}, {"smollm2-135m", 134'515'008},
      {"smollm2-360m", 361'821'120},     {"smollm2-1.7b", 1'711'376'384},
      {"qwen2.5-0.5b", 494'032'768},     {"qwen2.5-1.5b", 1'543'714'304},
      {"qwen2.5-3b", 3'085'938'688},     {"qwen2.5-7b", 7'615'616'512},
      {"qwen2.5-14b", 14'770'033'664},   {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},   {"qwen3-0.6b", 596'049'920},
      {"qwen3-1.7b", 1'720'574'976},     {"qwen3-4b", 4'022'468'096},
      {"qwen3-8b", 8'190'735'360},       {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},     {"mistral-7b-v0.3", 7'248'023'552},
      {"mistral-7b-v0.1", 7'241'732'096}};
  size_t sizes = 0;
  for (const DecoderRow& row : decoder_rows()) sizes += row.sizes.size();
  EXPECT_EQ(sizes, published.size());
  for (const auto& [name, numel] : published) EXPECT_EQ(parameters(name), numel) << name;
}

TEST(Decoder, TakesEveryNumberFromItsName) {
  const Decoder small = decoder_of(testing_support::model_named("llama3.2-1b"));
  EXPECT_TRUE(small.tied);
  EXPECT_EQ(small.epsilon, 1e-5f);
  EXPECT_EQ(small.rope,
            (Rope{.type = RopeType::llama3, .theta = 5e5, .factor = 32, .original = 8192}));
  EXPECT_EQ(small.dropout, 0) << "and not the first family's";
  EXPECT_EQ(decoder_of(testing_support::model_named("smollm2-135m")).deviation, float(1.0 / 24));
  const Decoder old = decoder_of(testing_support::model_named("mistral-7b-v0.1")),
                now = decoder_of(testing_support::model_named("mistral-7b-v0.3"));
  EXPECT_EQ(old.window, 4096);
  EXPECT_EQ(old.slides, std::vector<bool>(32, true));
  EXPECT_EQ(now.slides, std::vector<bool>(32, false));
  const Decoder wide = decoder_of(testing_support::model_named("qwen3-0.6b"));
  EXPECT_EQ(wide.heads * wide.head_width, 2 * wide.width);
  EXPECT_EQ(wide.rope.theta, 1e6);
}

Architecture model_by(const std::string& lines) {
  const std::string input =
      "data.train = \"t\"\ndata.sequence_length = 64\nrun.steps = 1\n" + lines;
  return architecture_of(read_config(input, "in.toml").config);
}
const std::string kSmall = "model.layers = 8\nmodel.width = 32\nmodel.heads = 4\n";

TEST(Decoder, OfNumbersHasWhatItsClassHas) {
  const Decoder qwen2 = decoder_of(model_by(kSmall + "model.family = \"qwen2\"\n"));
  EXPECT_TRUE(qwen2.has_bias);
  EXPECT_FALSE(qwen2.has_output_bias);
  EXPECT_FALSE(qwen2.tied);
  EXPECT_EQ(qwen2.head_width, 8);
  EXPECT_EQ(qwen2.key_heads, 4);
  EXPECT_EQ(qwen2.slides, std::vector<bool>(8, false));
  const Decoder smollm3 = decoder_of(
      model_by(kSmall + "model.family = \"smollm3\"\nmodel.key_heads = 2\nmodel.inner = 96\n"));
  EXPECT_TRUE(smollm3.tied);
  EXPECT_EQ(smollm3.inner, 96);
  EXPECT_EQ(smollm3.key_heads, 2);
  EXPECT_EQ(smollm3.rope.theta, 2e6);
  EXPECT_EQ(smollm3.turns, (std::vector<bool>{1, 1, 1, 0, 1, 1, 1, 0}));
  const Decoder theta =
      decoder_of(model_by(kSmall + "model.family = \"llama\"\nmodel.rope_theta = 5000\n"));
  EXPECT_EQ(theta.rope.theta, 5000);
  const Decoder seed = decoder_of(model_by(kSmall + "model.family = \"seed_oss\"\n"));
  EXPECT_EQ(seed.dropout, 0.1f);
  EXPECT_EQ(seed.head_width, 128);
}

TEST(Decoder, RefusesNumbersThatDoNotFit) {
  const auto refusal = [](const std::string& lines) {
    return refusal_of(Exit::kUsage,
                      [&] { model_by(kSmall + "model.family = \"llama\"\n" + lines); });
  };
  EXPECT_EQ(refusal(""), "");
  EXPECT_THAT(refusal("model.key_heads = 3"), HasSubstr("write key_heads that divides heads"));
  EXPECT_THAT(refusal("model.head_width = 5"), HasSubstr("write an even head_width"));
  EXPECT_THAT(refusal("model.width = 34\nmodel.head_width = 8").substr(0, 200), HasSubstr("twice"))
      << "a key stands twice";
  EXPECT_THAT(refusal("model.max_positions = 32"), HasSubstr("write sequence_length = 32 or less"));
  EXPECT_THAT(refusal("model.classifier = \"tied-unscaled\""),
              HasSubstr("write classifier = \"tied\" or \"untied\""));
  EXPECT_THAT(refusal("model.decoder_layers = 2"), HasSubstr("has no such number"));
}

TEST(Decoder, RefusesHeadsThatAreNarrowerThanAPair) {
  const auto refusal = [](int width, int heads) {
    return refusal_of(Exit::kUsage, [&] {
      model_by(text("model.family = \"qwen2\"\nmodel.layers = 1\nmodel.width = ", width,
                    "\nmodel.heads = ", heads, "\n"));
    });
  };
  EXPECT_THAT(refusal(4, 8), HasSubstr("heads of 0 columns do not turn in pairs"));
  EXPECT_THAT(refusal(8, 8), HasSubstr("heads of 1 columns do not turn in pairs"));
  EXPECT_EQ(refusal(16, 8), "");
}

TEST(Decoder, RefusesMoreParametersThanCountsHold) {
  const auto refusal = [](int layers) {
    return refusal_of(Exit::kUsage, [&] {
      model_by(text("model.family = \"qwen2\"\nmodel.layers = ", layers,
                    "\nmodel.width = 1048576\nmodel.heads = 4096\nmodel.inner = 1048576\n"));
    });
  };
  EXPECT_THAT(refusal(10000), HasSubstr("1e+13 parameters or more is not built"));
  EXPECT_EQ(refusal(1), "");
}

TEST(Decoder, RefusesTextsBeyondItsPositions) {
  const Architecture model = golden_model(testing::load_golden_decoder("llama_a").hub);
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { graph_with(model, 257); }),
              HasSubstr("the model has 256 positions"));
  const auto decode = [](const Architecture& of, int64_t context) {
    return refusal_of(Exit::kUsage, [&] {
      graph_of({.model = of}, Purpose::decode, {.chunk = {.length = 1, .context = context}});
    });
  };
  EXPECT_EQ(decode(model, 256), "");
  EXPECT_THAT(decode(model, 257), HasSubstr("ask for at most as many tokens"));
  const Architecture two = golden_model(testing::load_golden_decoder("phi3_long").hub);
  EXPECT_EQ(decode(two, 64), "");
  EXPECT_THAT(decode(two, 65), HasSubstr("which no cache spans"));
  EXPECT_EQ(data_form(two).context(), 64) << "so that no text is planned beyond it";
  EXPECT_EQ(data_form(model).context(), 256);
}

TEST(Decoder, BeginsAsTransformersDoes) {
  const graph::Graph graph = graph_with(golden_model(testing::load_golden_decoder("llama_e").hub));
  for (const graph::Parameter& parameter : graph.parameters) {
    const std::string& name = graph[parameter.tensor].name;
    const bool is_norm = name.ends_with("norm.weight"), is_bias = name.ends_with(".bias");
    EXPECT_EQ(parameter.init, is_norm   ? graph::Init::ones
                              : is_bias ? graph::Init::zeros
                                        : graph::Init::normal)
        << name;
    EXPECT_EQ(parameter.decays, !is_norm && !is_bias) << name;
    if (!is_norm && !is_bias) {
      EXPECT_EQ(parameter.deviation, 0.02f) << name;
    }
  }
  const graph::Graph gemma = graph_with(golden_model(testing::load_golden_decoder("gemma2").hub));
  for (const graph::Parameter& parameter : gemma.parameters) {
    if (gemma[parameter.tensor].name.ends_with("norm.weight")) {
      EXPECT_EQ(parameter.init, graph::Init::zeros) << "1 + weight";
    }
  }
}

TEST(Decoder, KeepsTablesInUnitsOfTheirOwnAndEachBlockInItsOwn) {
  const graph::Graph graph = graph_with(golden_model(testing::load_golden_decoder("llama_a").hub));
  EXPECT_THAT(graph.unit_names,
              ::testing::ElementsAre("embedding", "layers.0", "layers.1", "layers.2", "lm_head"));
  EXPECT_EQ(graph.blocks, (std::vector<int32_t>{1, 2, 3}));
}

TEST(Decoder, CountsTheOperationsOfAToken) {
  // By hand: 2 layers, width 4, 2 heads of 2, 1 of keys, inner 3, 5 tokens; texts of 8.
  Architecture model = model_by(
      "model.family = \"mistral\"\nmodel.layers = 2\nmodel.width = 4\nmodel.heads = 2\n"
      "model.key_heads = 1\nmodel.inner = 3\nmodel.vocab_size = 5\n");
  const double weights = 2 * (2 * 4 * 3 * 2 + 3 * 4 * 3) + 5 * 4;
  const graph::MicroBatch micro{.samples = 3, .length = 8};
  EXPECT_DOUBLE_EQ(flops_per_token({.model = model}, micro), 6 * weights + 6 * 2 * 8 * 4);
  model.numbers.rates["window"] = 4;
  const double seen = 4 - 4 * 4 / 16.0;  // mean of min(p, 4) over 0 to 8
  EXPECT_DOUBLE_EQ(flops_per_token({.model = model}, micro), 6 * weights + 12 * 2 * seen * 4);
}

}  // namespace
}  // namespace zero::model
