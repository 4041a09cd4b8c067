// Ranks: 1
#include "zero/setup/build.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/operations.hpp"
#include "zero/kernels/product.hpp"
#include "zero/model/objective.hpp"

namespace zero::setup {
namespace {

using ::testing::HasSubstr;

RunConfig tiny() {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 3}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 16;
  config.run.steps = 10;
  config.train_batch_size = 16;
  config.train_micro_batch_size_per_gpu = 2;
  return config;
}

size_t backward_ops(const Build& build) {
  size_t count = 0;
  for (const graph::Op& op : build.plan.graphs[0].ops) count += op.backward;
  return count;
}

TEST(Build, SplitsAStepIntoMicroBatchesOfARank) {
  const Build made = build(tiny(), {.ranks = 4});
  EXPECT_EQ(made.plan.request.micro_batches, 2);
  for (const char* name : {"tokens", "targets"}) {
    const plan::InputBuffer& input = made.plan.input(0, name);
    EXPECT_EQ(made.plan.buffers[size_t(input.buffer)].bytes, 2 * input.stride) << name;
  }
  EXPECT_EQ(made.plan.graphs[0].samples, 2);
}

TEST(Build, RefusesDataWhoseColumnsAreNotTheModelsInputs) {
  const auto build_with = [](decltype(DataKind::columns) columns) {
    const DataKind kind{.name = "odd", .columns = columns, .files = {}, .open = {}};
    const model::Objective objective{.settings = {.name = "tokens"}, .data = &kind};
    const model::Catalogue all({&model::gpt2_family()}, {&model::document_objective(), &objective});
    RunConfig config = tiny();
    config.model.table = &all.models;
    return testing_support::refusal_of(Exit::kInternal, [&] { build(config, {}); });
  };
  const auto tokens = [](const DataOptions&) -> std::vector<DataColumn> {
    return {{.name = "tokens", .numel = 16}};
  };
  EXPECT_THAT(build_with(tokens), HasSubstr("the model's input targets, 16 of type i32 a sample"));
  EXPECT_THAT(build_with([](const DataOptions& options) {
                auto columns = token_data().columns(options);
                columns.push_back({.name = "mask", .numel = 16});
                return columns;
              }),
              HasSubstr("the data have 3 columns, the model takes 2"));
}

TEST(Build, EvaluatesOnlyWhereThereIsValidationData) {
  RunConfig config = tiny();
  EXPECT_TRUE(build(config, {}).plan.graphs[1].ops.empty());
  config.data.validation_fraction = 0.1;
  EXPECT_EQ(build(config, {}).plan.graphs[1].samples, 2) << "as many as in training";
  config.evaluation.micro_batch_size = 5;
  EXPECT_EQ(build(config, {}).plan.graphs[1].samples, 5);
}

/// Kinds of a plan's ops on a unit, all bodies taken together.
std::set<plan::Kind> kinds_on(const plan::Plan& plan, size_t unit) {
  std::set<plan::Kind> kinds;
  for (const plan::Body& body : plan.bodies) {
    for (const plan::PlanOp& op : body.ops) {
      if (op.unit == int32_t(unit)) kinds.insert(op.kind);
    }
  }
  return kinds;
}

TEST(Build, PlansAWeightAloneForWhatIsFrozen) {
  using plan::Kind;
  RunConfig config = tiny();
  config.bf16.enabled = true;
  config.model.freeze = {"wte.weight", "h.1.*"};
  for (int stage : {0, 1, 2, 3}) {
    config.zero.stage = stage;
    config.offload_param.device = stage == 3 ? Home::cpu : Home::none;
    config.offload_optimizer.device = stage == 2 ? Home::cpu : Home::none;
    const plan::Plan plan = build(config, {.ranks = 2}).plan;
    int frozen = 0;
    for (size_t u = 0; u < plan.units.size(); ++u) {
      const plan::Unit& unit = plan.units[u];
      EXPECT_EQ(unit.frozen, unit.name == "h.1" || unit.name == "embedding.frozen") << unit.name;
      EXPECT_EQ(unit.gradient < 0, unit.frozen);
      EXPECT_EQ(unit.low < 0, unit.frozen);
      EXPECT_EQ(unit.states.empty(), unit.frozen);
      EXPECT_EQ(unit.weight_sharded, stage == 3);
      if (!unit.frozen) continue;
      ++frozen;
      const std::set<Kind> kinds = kinds_on(plan, u), moves = {Kind::all_gather, Kind::copy};
      EXPECT_EQ(kinds, stage == 3 ? moves : std::set<Kind>()) << "stage " << stage;
    }
    EXPECT_EQ(frozen, 2);
  }
}

int64_t on_device(const Build& build, plan::Use use) {
  int64_t sum = 0;
  for (const plan::Buffer& buffer : build.plan.buffers) {
    const bool counts = buffer.persistent && buffer.tier == plan::Tier::device;
    if (counts && buffer.use == use) sum += buffer.bytes;
  }
  return sum;
}

TEST(BuildEvaluation, HoldsWeightsAndNoMoreThanATraining) {
  RunConfig config = tiny();
  config.data.validation_fraction = 0.1;
  config.model.freeze = {"wte.weight"};
  for (int stage : {0, 1, 2, 3}) {
    for (const bool half : {false, true}) {
      config.zero.stage = stage;
      config.fp16.enabled = half;
      config.offload_param.device = stage == 3 ? Home::cpu : Home::none;
      config.offload_optimizer.device = stage > 0 ? Home::cpu : Home::none;
      const Build training = build(config, {.ranks = 2});
      RunConfig other = config;
      other.offload_optimizer.device = Home::none;
      const Build evaluation = build_evaluation(other, {.ranks = 2});
      const auto what = ::testing::Message() << "stage " << stage << (half ? " in fp16" : "");
      EXPECT_LE(evaluation.plan.arena_bytes[0], training.plan.arena_bytes[0]) << what;
      for (const plan::Use use : {plan::Use::optimizer, plan::Use::gradients})
        EXPECT_EQ(on_device(evaluation, use), 0) << what;
      EXPECT_EQ(on_device(evaluation, plan::Use::weights), on_device(training, plan::Use::weights))
          << what;
      EXPECT_EQ(evaluation.plan.graphs[1].ops.size(), training.plan.graphs[1].ops.size());
      other.numerics.reproducible = true;
      other.train_batch_size = 12;
      EXPECT_THROW(build(other, {.ranks = 3}), Error);
      EXPECT_TRUE(build_evaluation(other, {.ranks = 3}).fixed_products);
    }
  }
}

TEST(BuildEvaluation, OfAnOffloadedT53bFitsWhereItsTrainingDoes) {
  const auto file = testing_support::tree_folder() / "inputs/t5_3b_en_ro.toml";
  RunConfig config = read_config_file(file.string()).config;
  const World world{.ranks = 1, .gpus = true};
  const int64_t training = build(config, world).plan.arena_bytes[0];
  config.offload_optimizer = {};
  config.train_micro_batch_size_per_gpu = 1;
  const Build evaluation = build_evaluation(config, world);
  const int64_t weights = on_device(evaluation, plan::Use::weights);
  EXPECT_LT(evaluation.plan.arena_bytes[0], training / 2);
  EXPECT_LT(evaluation.plan.arena_bytes[0], 2 * weights);
  EXPECT_EQ(evaluation.plan.arena_bytes[size_t(plan::Tier::host)], 0);
}

TEST(BuildEvaluation, WithoutOffloadTakesAFractionOfTheStates) {
  RunConfig config = tiny();
  config.data.validation_fraction = 0.1;
  config.bf16.enabled = true;
  const int64_t weights = on_device(build(config, {}), plan::Use::weights);
  EXPECT_LT(build_evaluation(config, {}).plan.arena_bytes[0] + 6 * weights,
            build(config, {}).plan.arena_bytes[0])
      << "10 bytes of states and 2 of gradients stand beside 2 of weights";
}

TEST(BuildEvaluation, HasAFormForEachPairOfLengths) {
  const RunConfig config =
      read_config(
          "train_batch_size = 2\nmodel.family = \"t5\"\nmodel.layers = 1\nmodel.width = 64\n"
          "model.heads = 2\ndata.train = \"a.tsv\"\ndata.validation_fraction = 0.1\n"
          "data.source_length = 16\ndata.target_length = 16\nrun.steps = 1\n"
          "data.length_buckets = \"4x4, 8x8\"\n",
          "in.toml")
          .config;
  const Build made = build_evaluation(config, {});
  EXPECT_FALSE(made.trains);
  EXPECT_EQ(made.plan.shorter[0].size(), 2u);
  EXPECT_EQ(made.plan.shorter[1].size(), 2u);
}

int64_t classifier_rows(const Build& build, size_t graph) {
  for (const graph::Op& op : build.plan.graphs[graph].ops) {
    if (op.kind == &graph::kClassifier || op.kind == &graph::kClassifierGrad) {
      return op.attributes.as<graph::ClassifierAttributes>().chunk_rows;
    }
  }
  return 0;
}

TEST(Build, WidensHeadsOnGpusIn16BitsAndLeavesStatesAsTheyAreOnHosts) {
  RunConfig config = tiny();
  config.model.numbers.counts["width"] = 40;  // heads of 20
  const auto widened = [&](bool gpus) {
    const Build made = build(config, {.gpus = gpus});
    size_t count = 0;
    for (const graph::Op& op : made.plan.graphs[0].ops) count += op.kind == &graph::kResizeHeads;
    return count;
  };
  EXPECT_EQ(widened(true), 0u) << "fp32 is our own kernels'";
  config.bf16.enabled = true;
  EXPECT_EQ(widened(false), 0u);
  // A block's three, those that a product of the backward pass reads again, and three gradients.
  EXPECT_EQ(widened(true), 3u * (3 + 2 + 3));
  const plan::Plan host = build(config, {}).plan, gpu = build(config, {.gpus = true}).plan;
  ASSERT_EQ(host.units.size(), gpu.units.size());
  for (size_t u = 0; u < host.units.size(); ++u) {
    EXPECT_EQ(host.units[u].numel, gpu.units[u].numel);
    ASSERT_EQ(host.units[u].parameters.size(), gpu.units[u].parameters.size());
    for (size_t i = 0; i < host.units[u].parameters.size(); ++i) {
      EXPECT_EQ(host.units[u].parameters[i].begin, gpu.units[u].parameters[i].begin);
      EXPECT_EQ(host.units[u].parameters[i].numel, gpu.units[u].parameters[i].numel);
    }
  }
  config.model.numbers.counts["width"] = 64;  // heads of 32
  EXPECT_EQ(widened(true), 0u);
}

TEST(Build, ClassifiesMoreRowsAtATimeOnGpusAndNeverMoreThanThereAre) {
  RunConfig config = tiny();
  config.train_micro_batch_size_per_gpu = 1;
  config.data.sequence_length = 1024;
  EXPECT_EQ(classifier_rows(build(config, {}), 0), 1024);
  EXPECT_EQ(classifier_rows(build(config, {.gpus = true}), 0), 1024);
  config.train_micro_batch_size_per_gpu = 8;
  config.data.validation_fraction = 0.1;
  EXPECT_EQ(classifier_rows(build(config, {}), 0), 1024);
  EXPECT_EQ(classifier_rows(build(config, {.gpus = true}), 0), 4096);
  EXPECT_EQ(classifier_rows(build(config, {.gpus = true}), 1), 4096) << "evaluation alike";
}

TEST(Build, RecomputesTheNamedBlocksOnly) {
  RunConfig config = tiny();
  const size_t none = backward_ops(build(config, {}));
  config.recompute = {.mode = Recompute::Mode::layers, .layers = {0, 2}};
  const size_t two = backward_ops(build(config, {}));
  config.recompute = {.mode = Recompute::Mode::full, .layers = {}};
  const size_t three = backward_ops(build(config, {}));
  EXPECT_GT(two, none);
  EXPECT_EQ((two - none) * 3, (three - none) * 2) << "each block adds the same ops";
}

TEST(Build, RefusesAHomeOfActivationsWhereNoneWouldLeave) {
  RunConfig config = tiny();
  config.recompute = {.mode = Recompute::Mode::full, .layers = {}};
  config.offload_activations = {.offload = Home::cpu, .nvme_path = ""};
  EXPECT_EQ(build(config, {}).plan.request.activation_home, plan::Tier::host);
  config.model.numbers.counts["layers"] = 2;
  const auto refusal = [&] {
    return testing_support::refusal_of(Exit::kUsage, [&] { build(config, {}); });
  };
  EXPECT_THAT(refusal(), HasSubstr("write buffer_count = 1"));
  config.offload_activations.buffer_count = 1;
  EXPECT_GT(build(config, {}).plan.arena_bytes[size_t(plan::Tier::host)], 0);
  config.model.numbers.counts["layers"] = 1;
  EXPECT_THAT(refusal(), HasSubstr("write offload = \"none\""));
}

TEST(Build, FusesWhereTheLibraryCanButNotInReproducibleMode) {
  RunConfig config = tiny();
  EXPECT_TRUE(fuses_products(config, true));
  EXPECT_FALSE(fuses_products(config, false));
  config.numerics.reproducible = true;
  EXPECT_FALSE(fuses_products(config, true));
}

TEST(Build, SumsInProductsWhereTheLibraryFuses) {
  RunConfig config = tiny();
  EXPECT_EQ(build(config, {}).plan.request.sums_in_products, kernels::fuses_products());
  config.numerics.reproducible = true;
  EXPECT_FALSE(build(config, {}).plan.request.sums_in_products);
}

TEST(Build, OfAHostHasTheGraphAsItWasDifferentiated) {
  if (kernels::fuses_products()) GTEST_SKIP() << "products of this build have epilogues";
  RunConfig config = tiny();
  config.data.validation_fraction = 0.1;
  for (const graph::Graph& graph : build(config, {}).plan.graphs) {
    for (const graph::Op& op : graph.ops) {
      for (const graph::OpKind fused :
           {&graph::kLinearGelu, &graph::kLinearInputGeluGrad, &graph::kLinearParameterGrad}) {
        EXPECT_NE(op.kind, fused) << op.kind->name;
      }
    }
  }
}

TEST(Build, PassesThePrecisionOn) {
  RunConfig config = tiny();
  EXPECT_EQ(compute_dtype(config), Dtype::f32);
  config.fp16.enabled = true;
  EXPECT_EQ(build(config, {}).plan.request.compute, Dtype::f16);
}

TEST(Build, RoundsSumsForTheirWayWhereBf16IsAskedFor) {
  RunConfig config = tiny();
  config.bf16.enabled = true;
  for (const auto type : {CommunicationDtype::automatic, CommunicationDtype::fp32}) {
    config.communication_data_type = type;
    EXPECT_FALSE(build(config, {.ranks = 2}).plan.request.wire_bf16);
  }
  const uint64_t as_auto = build(config, {.ranks = 2}).plan.hash();
  config.communication_data_type = CommunicationDtype::automatic;
  EXPECT_EQ(build(config, {.ranks = 2}).plan.hash(), as_auto) << "fp32 is auto";
  config.communication_data_type = CommunicationDtype::bf16;
  EXPECT_TRUE(build(config, {.ranks = 2}).plan.request.wire_bf16);
  EXPECT_NE(build(config, {.ranks = 2}).plan.hash(), as_auto);
}

TEST(Build, SaysOfAThresholdBelowEveryUnitThatItHasNoEffect) {
  RunConfig config = tiny();
  config.zero.stage = 3;
  const plan::Plan plan = build(config, {.ranks = 2}).plan;
  int64_t smallest = INT64_MAX;
  for (const plan::Unit& unit : plan.units) smallest = std::min(smallest, unit.numel);
  const auto said = [&](int64_t threshold, int64_t stage, int ranks) {
    config.zero.stage3_param_persistence_threshold = threshold;
    config.zero.stage = stage;
    return idle_threshold(config, build(config, {.ranks = ranks}).plan);
  };
  EXPECT_NE(said(smallest - 1, 3, 2).find(text("has ", smallest, " elements; write that")),
            std::string::npos)
      << said(smallest - 1, 3, 2);
  EXPECT_EQ(said(smallest, 3, 2), "");
  EXPECT_EQ(said(0, 3, 2), "") << "nothing is to stay";
  EXPECT_EQ(said(1, 2, 2), "") << "nothing is gathered in a step";
  EXPECT_EQ(said(1, 3, 1), "") << "a rank alone gathers nothing";
}

/// The key that a refusal names first.
std::string key_refused(const RunConfig& config, const World& world) {
  try {
    build(config, world);
  } catch (const SettingsError& error) {
    return error.keys().front();
  }
  return "";
}

TEST(Build, RefusesByTheKeysWhatRanksMakeImpossible) {
  RunConfig config = tiny();
  config.train_batch_size = 7;
  EXPECT_EQ(key_refused(config, {.ranks = 3}), "train_batch_size");
  config = tiny();
  config.model.numbers.counts["layers"] = 1;
  config.recompute = {.mode = Recompute::Mode::full, .layers = {}};
  config.offload_activations = {.offload = Home::cpu, .nvme_path = ""};
  EXPECT_EQ(key_refused(config, {}), "activation_checkpointing.offload");
}

TEST(Build, TakesFp32SumsOfAnFp32RunForWhatTheyAre) {
  RunConfig config = tiny();
  for (int64_t stage : {0, 1, 2, 3}) {
    config.zero.stage = stage;
    config.numerics.gradient_dtype = GradientDtype::compute;
    const Build compute = build(config, {.ranks = 4});
    config.numerics.gradient_dtype = GradientDtype::fp32;
    const Build fp32 = build(config, {.ranks = 4});
    EXPECT_EQ(fp32.plan.arena_bytes, compute.plan.arena_bytes) << stage;
    EXPECT_EQ(fp32.plan.bodies[plan::kStep].ops.size(), compute.plan.bodies[plan::kStep].ops.size())
        << stage;
  }
}

TEST(Rules, ScaleIsDynamicConstantOrOne) {
  RunConfig config = tiny();
  const std::vector<float> rates = learning_rates(config);
  EXPECT_EQ(rates.size(), 10u);
  EXPECT_EQ(rules_of(config, rates).decide.scaling.initial_scale, 1.0f);
  config.fp16.enabled = true;
  config.fp16.initial_scale_power = 4;
  EXPECT_TRUE(rules_of(config, rates).decide.scaling.enabled);
  EXPECT_EQ(rules_of(config, rates).decide.scaling.initial_scale, 16.0f);
  config.fp16.loss_scale = 128;
  EXPECT_FALSE(rules_of(config, rates).decide.scaling.enabled);
  EXPECT_EQ(rules_of(config, rates).decide.scaling.initial_scale, 128.0f);
}

TEST(Rules, ATableOfRatesHasAnEnd) {
  RunConfig config = tiny();
  config.run.steps = 1'000'000'000'000;
  EXPECT_THROW(learning_rates(config), SettingsError);
}

}  // namespace
}  // namespace zero::setup
