#include "zero/setup/build.hpp"

#include <algorithm>
#include <cmath>

#include "src/setup/build_rules.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"
#include "zero/model/objective.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/setup/groups.hpp"
#include "zero/setup/saved_parts.hpp"

namespace zero::setup {
namespace {

std::vector<graph::Recompute> recompute_policy(const Recompute& wanted, size_t blocks) {
  using Mode = Recompute::Mode;
  graph::Recompute everywhere = graph::Recompute::none;
  if (wanted.mode == Mode::selective) everywhere = graph::Recompute::selective;
  if (wanted.mode == Mode::full) everywhere = graph::Recompute::full;
  std::vector<graph::Recompute> policy(blocks, everywhere);
  for (int64_t layer : wanted.layers) policy.at(size_t(layer)) = graph::Recompute::full;
  return policy;
}

graph::Graph fused_where_wanted(const RunConfig& config, graph::Graph graph) {
  return fuses_products(config, kernels::fuses_products()) ? graph::fuse(graph) : graph;
}

/// Rows of a chunk on a GPU. Every chunk reads and writes the fp32 gradient of the classifier's
/// table, which takes a GPU long; a host's caches want few rows.
constexpr int64_t kClassifierRowsOfGpu = 4096;

/// Returns the unit of head widths that the attention library wants.
int64_t head_unit(const RunConfig& config, const World& world) {
  return world.gpus && compute_dtype(config) != Dtype::f32 ? kernels::kDeviceHeadUnit : 1;
}

const DataKind& kind_of(const RunConfig& config) { return *model::objective_for(config).data; }

/// True if samples hold several texts, whose begins are a column of the data.
bool is_packed(const RunConfig& config) {
  const std::vector<DataColumn> columns = kind_of(config).columns(data_options(config));
  return std::ranges::find(columns, model::kFirstInput, &DataColumn::name) != columns.end();
}

model::GraphSizes sizes_of(const RunConfig& config, const World& world, int64_t micro) {
  return {.micro = {.samples = micro,
                    .length = config.data.sequence_length,
                    .source_length = config.data.source_length},
          .compute = compute_dtype(config),
          .chunk_rows = world.gpus ? kClassifierRowsOfGpu : 0,
          .head_unit = head_unit(config, world),
          .packed = is_packed(config),
          .scores_tokens = config.evaluation.scores_texts()};
}

graph::Graph training_graph(const RunConfig& config, const model::Recipe& recipe,
                            const World& world, int64_t micro) {
  const graph::Graph forward =
      model::graph_of(recipe, model::Purpose::train, sizes_of(config, world, micro));
  const auto policy = recompute_policy(config.recompute, forward.blocks.size());
  return fused_where_wanted(config, graph::recompute(graph::differentiate(forward), policy));
}

graph::Graph evaluation_graph(const RunConfig& config, const model::Recipe& recipe,
                              const World& world, int64_t micro) {
  if (micro == 0) return {};
  return fused_where_wanted(
      config, model::graph_of(recipe, model::Purpose::evaluate, sizes_of(config, world, micro)));
}

/// Returns the graph of steps. Without training, steps only read weights, and all are frozen.
graph::Graph step_graph(const RunConfig& config, const Build& build, const World& world) {
  if (build.trains) return training_graph(config, build.recipe, world, build.batch.micro);
  graph::Graph forward = evaluation_graph(config, build.recipe, world, build.batch.micro);
  for (graph::Parameter& parameter : forward.parameters) parameter.frozen = true;
  return forward;
}

/// Returns the configuration for samples padded to shorter texts.
RunConfig of_lengths(RunConfig config, const LengthPair& lengths) {
  config.data.source_length = lengths.source;
  config.data.sequence_length = lengths.target;
  return config;
}

/// Checks that the data, a kind of its own, have the columns that the model's graph takes.
void require_columns(const graph::Graph& graph, const std::vector<DataColumn>& columns) {
  size_t wanted = 0;
  for (const graph::Input& input : graph.inputs) {
    if (input.filled_by != graph::FilledBy::data) continue;
    const graph::Tensor& tensor = graph[input.tensor];
    const DataColumn column{
        .name = tensor.name, .dtype = tensor.dtype, .numel = tensor.shape.numel() / graph.samples};
    ZERO_REQUIRE(std::find(columns.begin(), columns.end(), column) != columns.end(),
                 "no column of the data is the model's input ", column.name, ", ", column.numel,
                 " of type ", name_of(column.dtype), " a sample");
    ++wanted;
  }
  ZERO_REQUIRE(wanted == columns.size(), "the data have ", columns.size(),
               " columns, the model takes ", wanted);
}

plan::Tier tier_of(Home home) {
  ZERO_REQUIRE(home != Home::automatic,
               "a plan needs homes: choose_homes() finds those of \"auto\"");
  if (home == Home::none) return plan::Tier::device;
  return home == Home::cpu ? plan::Tier::host : plan::Tier::nvme;
}

plan::Request request_of(const RunConfig& config, const World& world, const BatchSizes& batch) {
  const ZeroConfig& zero = config.zero;
  const int64_t buffers = config.offload_optimizer.buffer_count;
  return {.stage = int(zero.stage),
          .ranks = world.ranks,
          .group_ranks = group_ranks(config, world),
          .micro_batches = int(batch.accumulation),
          .compute = compute_dtype(config),
          .optimizer = form_of(config.optimizer),
          .weight_decay = float(config.optimizer.weight_decay),
          .reproducible = config.numerics.reproducible,
          .gradient_fp32 = config.numerics.gradient_dtype == GradientDtype::fp32,
          .threads = world.threads,
          .wire_bf16 = config.communication_data_type == CommunicationDtype::bf16,
          .sums_in_products = fuses_products(config, kernels::fuses_products()),
          .audits = config.run.audit_interval > 0,
          .overlap = zero.overlap_comm,
          .reduce_bucket_numel = zero.reduce_bucket_size,
          .gather_bucket_numel = zero.allgather_bucket_size,
          .prefetch_numel = zero.stage3_prefetch_bucket_size,
          .keep_below_numel = zero.stage3_param_persistence_threshold,
          .keep_distance_numel = zero.stage3_max_reuse_distance,
          .live_numel = zero.stage3_max_live_parameters,
          .optimizer_home = tier_of(config.offload_optimizer.device),
          .weight_home = tier_of(config.offload_param.device),
          .optimizer_share = config.offload_optimizer.ratio,
          .staged_units = buffers ? int(buffers) : plan::kLeastStagedUnits,
          .pinned_host = pins_host(config),
          .activation_home = tier_of(config.offload_activations.home()),
          .staged_activations = int(config.offload_activations.buffer_count)};
}

kernels::LossScaling loss_scaling_of(const RunConfig& config) {
  const Fp16Config& fp16 = config.fp16;
  if (!fp16.enabled) return {};
  const bool dynamic = fp16.loss_scale == 0;
  return {.enabled = dynamic,
          .initial_scale =
              dynamic ? std::ldexp(1.0f, int(fp16.initial_scale_power)) : float(fp16.loss_scale),
          .window = fp16.loss_scale_window,
          .hysteresis = int32_t(fp16.hysteresis),
          .consecutive_hysteresis = fp16.consecutive_hysteresis,
          .min_scale = float(fp16.min_loss_scale)};
}

Build build_of(const RunConfig& config, const World& world, const plan::UpdateShares& shares,
               bool trains) {
  Build made{.recipe = model::recipe_of(config),
             .batch = resolve_batch(config, world.ranks),
             .trains = trains,
             .fixed_products = config.numerics.reproducible,
             .plan = {}};
  made.evaluation_micro = evaluation_micro_batch(config, made.batch);
  plan::Request request = request_of(config, world, made.batch);
  request.audits &= trains;
  request.device_update_share = shares.on_device;
  request.speculated_share = shares.speculated;
  // Only gradients are summed in trees, which need a power of two of ranks.
  request.reproducible &= trains;
  made.plan = plan::compile(request, step_graph(config, made, world),
                            evaluation_graph(config, made.recipe, world, made.evaluation_micro),
                            world.interrupt);
  require_columns(made.plan.graphs[0], kind_of(config).columns(data_options(config)));
  add_forms(config, world, made);
  return made;
}

}  // namespace

Dtype compute_dtype(const RunConfig& config) {
  return config.bf16.enabled ? Dtype::bf16 : config.fp16.enabled ? Dtype::f16 : Dtype::f32;
}

DataOptions data_options(const RunConfig& config) {
  const model::DataForm form = model::data_form(model::architecture_of(config));
  return {.data = config.data,
          .seed = uint64_t(config.run.seed),
          .vocab_size = form.vocabulary,
          .ids = form.ids,
          .known_labels = config.model.start.labels,
          .keeps_labels = config.model.start.are_final,
          .packs = family_of(config.model).functions->packs,
          .model = model_numbers(config).counts};
}

DataSets open_data(const RunConfig& config) { return kind_of(config).open(data_options(config)); }

bool fuses_products(const RunConfig& config, bool library_can) {
  return library_can && !config.numerics.reproducible;
}

int64_t evaluation_micro_batch(const RunConfig& config, const BatchSizes& batch) {
  if (!has_validation(config) && !config.evaluation.scores_texts()) return 0;
  return config.evaluation.micro_batch_size ? config.evaluation.micro_batch_size : batch.micro;
}

bool is_saved(const RunConfig& config) {
  const CheckpointConfig& wanted = config.checkpoint;
  return config.data.train != "synthetic" || wanted.interval > 0 ||
         wanted.resume == Resume::require || !wanted.resume_from.empty();
}

bool pins_host(const RunConfig& config) {
  const OffloadOptimizerConfig& states = config.offload_optimizer;
  const OffloadParamConfig& weights = config.offload_param;
  return (states.device == Home::none || states.pin_memory) &&
         (weights.device == Home::none || weights.pin_memory);
}

Build build(const RunConfig& config, const World& world, const plan::UpdateShares& shares) {
  Build made = build_of(config, world, shares, /*trains=*/true);
  refuse_unless_activations_leave(config, made.plan);
  require_validation(config);
  require_same_products(config, world);
  require_lender(config, made.plan);
  if (config.checkpoint.async && is_saved(config)) {
    const auto parts = saved_parts(made.plan, config.checkpoint.weights_only);
    made.slotted = saved_on_disk(made.plan, parts);
    made.copy_bytes = saved_copy_bytes(made.plan, parts) +
                      (made.slotted.empty() ? 0 : kFrozenWindowBytes + kJoinRoomBytes);
  }
  if (world.texts) made.texts = world.texts(config, made);
  return made;
}

Build build_evaluation(const RunConfig& config, const World& world) {
  RunConfig of_all = config;
  of_all.zero.shard_group = 0;
  return build_of(of_all, world, {}, /*trains=*/false);
}

void add_forms(const RunConfig& config, const World& world, Build& build) {
  require_lengths_stay(config);
  const std::vector<LengthPair> forms = form_lengths(config);
  std::array<std::vector<graph::Graph>, 2> shorter;
  for (size_t i = 0; i + 1 < forms.size(); ++i) {
    const RunConfig form = of_lengths(config, forms[i]);
    shorter[0].push_back(step_graph(form, build, world));
    if (build.evaluation_micro == 0) continue;
    shorter[1].push_back(evaluation_graph(form, build.recipe, world, build.evaluation_micro));
  }
  if (!shorter[0].empty()) plan::add_forms(build.plan, std::move(shorter));
}

void order_by_length(RunConfig& config, const BatchSizes& batch, DataSets& sets) {
  DataConfig& data = config.data;
  if (data.length_buckets == "none") return;
  const LengthPair longest = longest_lengths(config);
  std::vector<LengthPair> forms = form_lengths(config);
  if (forms.empty()) forms = choose_form_lengths(*sets.train, longest, int64_t(kMostForms));
  data.length_buckets = to_text(forms);
  sets.train->group(forms, batch.micro);
  if (sets.validation) sets.validation->group(forms, evaluation_micro_batch(config, batch));
}

void group_samples(RunConfig& config, const World& world, Build& build, DataSets& sets) {
  const bool chooses = chooses_lengths(config.data);
  order_by_length(config, build.batch, sets);
  if (chooses) add_forms(config, world, build);
}

std::vector<ScoredSet> open_scored_sets(const RunConfig& config) {
  return zero::open_scored_sets(data_options(config), config.evaluation);
}

void group_scored(const RunConfig& config, const World& world, Build& build,
                  std::vector<ScoredSet>& sets) {
  if (sets.empty() || config.offload_activations.home() != Home::none) return;
  const std::vector<LengthPair> forms = choose_form_lengths(
      *sets.front().samples, {.target = config.data.sequence_length}, int64_t(kMostForms));
  for (const ScoredSet& set : sets) set.samples->group(forms, build.evaluation_micro);
  std::array<std::vector<graph::Graph>, 2> shorter;
  for (size_t i = 0; i + 1 < forms.size(); ++i) {
    shorter[1].push_back(evaluation_graph(of_lengths(config, forms[i]), build.recipe, world,
                                          build.evaluation_micro));
  }
  if (!shorter[1].empty()) plan::add_forms(build.plan, std::move(shorter));
}

int64_t Build::disk_bytes() const {
  return plan.arena_bytes[size_t(plan::Tier::nvme)] + tiers::SlotTable::bytes_for(slotted);
}

int64_t buffers_for(const RunConfig& config, const World& world, const plan::Machine& machine) {
  const BatchSizes batch = resolve_batch(config, world.ranks);
  return plan::staged_units_for(
      request_of(config, world, batch),
      training_graph(config, model::recipe_of(config), world, batch.micro), machine);
}

double device_update_share_for(const RunConfig& config, const World& world,
                               const plan::Machine& machine) {
  const BatchSizes batch = resolve_batch(config, world.ranks);
  return plan::device_update_share_for(
      request_of(config, world, batch),
      training_graph(config, model::recipe_of(config), world, batch.micro), machine);
}

plan::UpdateShares speculated_shares_for(const RunConfig& config, const World& world,
                                         const plan::Machine& machine) {
  const BatchSizes batch = resolve_batch(config, world.ranks);
  const plan::Request request = request_of(config, world, batch);
  if (!plan::can_speculate(request)) return {};
  return plan::speculated_shares_for(
      request, training_graph(config, model::recipe_of(config), world, batch.micro), machine);
}

std::string idle_threshold(const RunConfig& config, const plan::Plan& plan) {
  const int64_t threshold = config.zero.stage3_param_persistence_threshold;
  const auto smallest =
      std::min_element(plan.units.begin(), plan.units.end(),
                       [](const plan::Unit& a, const plan::Unit& b) { return a.numel < b.numel; });
  if (threshold == 0 || !smallest->is_fetched() || threshold >= smallest->numel) return "";
  return text(threshold, " has no effect: it is compared with whole units, of which the ",
              "smallest, ", smallest->name, ", has ", counted(smallest->numel, "element"),
              "; write that or more, or 0");
}

std::vector<float> learning_rates(const RunConfig& config) {
  if (config.run.steps > kMostRunSteps) {
    refuse_settings({"run.epochs", "run.steps"}, "these are ", config.run.steps,
                    " steps, and the most are ", kMostRunSteps, "; write fewer");
  }
  const Schedule schedule = schedule_of(config);
  std::vector<float> rates(size_t(config.run.steps));
  for (size_t i = 0; i < rates.size(); ++i) rates[i] = schedule.rate(int64_t(i));
  return rates;
}

run::Rules rules_of(const RunConfig& config, const std::vector<float>& rates) {
  const OptimizerConfig& optimizer = config.optimizer;
  return {.decide = {.scaling = loss_scaling_of(config),
                     .clip = config.gradient_clipping,
                     .beta1 = optimizer.betas[0],
                     .beta2 = optimizer.betas[1],
                     .learning_rates = rates.data(),
                     .learning_rate_count = int64_t(rates.size())},
          .optimizer = {.settings = optimizer}};
}

}  // namespace zero::setup
