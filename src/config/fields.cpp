#include "src/config/fields.hpp"

namespace zero {
namespace {

/// Collects fields under a section's name.
class Table {
 public:
  void section(const std::string& name) { prefix_ = name + "."; }
  void integer(std::string_view key, int64_t& value, Range range) {
    add(key, Integer{&value, range});
  }
  void real(std::string_view key, double& value, Range range) { add(key, Real{&value, range}); }
  void size(std::string_view key, int64_t& value) { add(key, Size{&value}); }
  void word(std::string_view key, std::string& value) { add(key, &value); }
  void flag(std::string_view key, bool& value) { add(key, &value); }
  void other(std::string_view key, Slot slot) { add(key, std::move(slot)); }
  void fixed(std::string_view key, std::vector<TomlValue> accepted, std::string_view reason) {
    add(key, Fixed{std::move(accepted), reason});
  }
  template <class Enum>
  void choice(std::string_view key, Enum& value, std::vector<std::string_view> names,
              std::string_view hint = "") {
    add(key, Choice{.names = std::move(names),
                    .get = [&value] { return int(value); },
                    .set = [&value](int i) { value = Enum(i); },
                    .hint = hint});
  }
  std::vector<Field> take() { return std::move(fields_); }

 private:
  void add(std::string_view key, Slot slot) {
    fields_.push_back({prefix_ + std::string(key), std::move(slot)});
  }

  std::string prefix_;
  std::vector<Field> fields_;
};

void batch_fields(Table& table, RunConfig& c) {
  table.integer("train_batch_size", c.train_batch_size,
                {.low = 1, .high = 1e12, .automatic = true});
  table.integer("train_micro_batch_size_per_gpu", c.train_micro_batch_size_per_gpu,
                {.low = 1,
                 .high = 1e6,
                 .automatic = true,
                 .hint = " (zeroapp plan INPUT --max-batch prints the largest that fits)"});
  table.integer("gradient_accumulation_steps", c.gradient_accumulation_steps,
                {.low = 1, .high = 1e6, .automatic = true});
  table.real("gradient_clipping", c.gradient_clipping, {.high = 1e30});
  table.choice("communication_data_type", c.communication_data_type, {"auto", "fp32", "bf16"},
               " (sums of gradients overflow in fp16)");
  table.flag("wall_clock_breakdown", c.wall_clock_breakdown);
}

void model_fields(Table& table, ModelConfig& c) {
  table.section("model");
  table.word("name", c.name);
  table.choice("family", c.family, {"gpt2"});
  table.integer("layers", c.layers, {.low = 1, .high = 10000, .automatic = true});
  table.integer("width", c.width, {.low = 1, .high = 1 << 20, .automatic = true});
  table.integer("heads", c.heads, {.low = 1, .high = 1 << 14, .automatic = true});
  table.integer("vocab_size", c.vocab_size, {.low = 2, .high = 1 << 24, .automatic = true});
  table.integer("max_positions", c.max_positions, {.low = 1, .high = 1 << 24, .automatic = true});
  table.real("dropout", c.dropout, {.high = 1, .below_high = true});
}

void data_fields(Table& table, DataConfig& c) {
  table.section("data");
  table.word("train", c.train);
  table.word("validation", c.validation);
  table.real("validation_fraction", c.validation_fraction, {.high = 1, .below_high = true});
  table.word("tokenizer", c.tokenizer);
  table.integer("sequence_length", c.sequence_length, {.low = 1, .high = 1 << 24});
  table.integer("max_train_samples", c.max_train_samples, {});
  table.integer("max_validation_samples", c.max_validation_samples, {});
}

void run_fields(Table& table, SessionConfig& c) {
  table.section("run");
  table.integer("steps", c.steps, {.low = 1, .high = 1e12});
  table.integer("stop_at", c.stop_at, {.high = 1e12});
  table.word("output", c.output);
  table.integer("seed", c.seed, {});
  table.integer("log_interval", c.log_interval, {.low = 1});
  table.integer("watchdog", c.watchdog, {.low = 1, .high = 86400, .automatic = true});
  table.integer("threads", c.threads, {.high = 4096});
}

void optimizer_fields(Table& table, OptimizerConfig& c) {
  table.section("optimizer");
  table.choice("type", c.type, {"AdamW", "Adam", "LAMB"});
  table.real("lr", c.lr, {.high = 1e3});
  table.other("betas", &c.betas);
  table.real("eps", c.eps, {.high = 1, .above_low = true});
  table.real("weight_decay", c.weight_decay, {.high = 1e3});
  table.flag("adam_w_mode", c.adam_w_mode);
  table.real("max_coeff", c.max_coeff, {.high = 1e6, .above_low = true});
  table.real("min_coeff", c.min_coeff, {.high = 1e6});
}

void scheduler_fields(Table& table, ScheduleConfig& c) {
  table.section("scheduler");
  table.choice("type", c.type, {"constant", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"});
  table.choice("warmup_type", c.warmup_type, {"linear", "log"});
  table.integer("warmup_num_steps", c.warmup_num_steps, {.high = 1e12});
  table.real("warmup_min_lr", c.warmup_min_lr, {.high = 1e3});
  table.real("warmup_max_lr", c.warmup_max_lr, {.high = 1e3, .above_low = true, .automatic = true});
  table.integer("total_num_steps", c.total_num_steps, {.low = 1, .high = 1e12, .automatic = true});
  table.real("warmup_min_ratio", c.warmup_min_ratio, {.high = 1});
  table.real("cos_min_ratio", c.cos_min_ratio, {.high = 1});
}

void zero_fields(Table& table, ZeroConfig& c) {
  table.section("zero");
  table.integer("stage", c.stage, {.high = 3});
  table.integer("reduce_bucket_size", c.reduce_bucket_size, {.low = 1});
  table.integer("allgather_bucket_size", c.allgather_bucket_size, {.low = 1});
  table.flag("overlap_comm", c.overlap_comm);
  table.integer("stage3_prefetch_bucket_size", c.stage3_prefetch_bucket_size, {});
  table.integer("stage3_param_persistence_threshold", c.stage3_param_persistence_threshold, {});
  table.integer("stage3_max_live_parameters", c.stage3_max_live_parameters, {.low = 1});
  table.integer("stage3_max_reuse_distance", c.stage3_max_reuse_distance, {});
}

/// Keys of DeepSpeed's zero_optimization whose answer is fixed by the design of the plan.
void zero_fixed_fields(Table& table) {
  table.fixed("contiguous_gradients", {true},
              "gradients always lie in one planned buffer; write true");
  table.fixed("reduce_scatter", {true},
              "stages 1 to 3 always reduce-scatter and stage 0 always all-reduces; write true");
  table.fixed("allgather_partitions", {true},
              "updated weights are always all-gathered, never broadcast; write true");
  table.fixed("round_robin_gradients", {false},
              "every unit is cut in equal shards, so there is no imbalance to level; write false");
  table.fixed("use_multi_rank_bucket_allreduce", {true},
              "a bucket always holds the shards of all ranks; write true");
  table.fixed("ignore_unused_parameters", {true},
              "the plan knows every parameter's use before step 1; write true");
  table.fixed("legacy_stage1", {false}, "there is one stage 1; write false");
  table.fixed("sub_group_size", {int64_t(1'000'000'000)},
              "the optimizer runs unit by unit and takes no extra memory; leave it at 1e9");
  table.fixed(
      "stage3_model_persistence_threshold", {"auto"},
      "only stage3_param_persistence_threshold decides what stays gathered; write \"auto\"");
  table.fixed("stage3_module_granularity_threshold", {int64_t(0)},
              "units are fixed by the model: one block each; write 0");
  table.fixed("stage3_use_all_reduce_for_fetch_params", {false},
              "parameters are fetched by all-gather; write false");
  table.fixed("stage3_allgather_sequential", {false},
              "a unit's gather is one collective of the plan; write false");
  table.fixed("memory_efficient_linear", {true},
              "products always read the gathered weight in place; write true");
  table.fixed("mics_shard_size", {int64_t(-1)},
              "shards are cut over all ranks; sharding within groups comes later; write -1");
  table.fixed("zero_hpz_partition_size", {int64_t(1)},
              "a second copy of the weights inside a node comes later; write 1");
  table.fixed("zero_quantized_weights", {false}, "weights travel unquantised; write false");
  table.fixed("zero_quantized_gradients", {false}, "gradients travel unquantised; write false");
  table.fixed("cpu_offload", {false},
              "the old name of offload_optimizer.device = cpu; optimizer state rests in device "
              "memory for now; write false");
}

constexpr std::string_view kTiersLater =
    "the host and disk tiers come later; for now all state rests in device memory: write \"none\" "
    "and shard it with zero.stage = 1, 2 or 3";
constexpr std::string_view kOnlyWithOffload =
    "acts only on a tier that comes later; remove the key";

void offload_fields(Table& table) {
  table.section("zero.offload_optimizer");
  table.fixed("device", {"none"}, kTiersLater);
  table.fixed("nvme_path", {""}, kOnlyWithOffload);
  table.fixed("pin_memory", {true}, kOnlyWithOffload);
  table.fixed("buffer_count", {int64_t(4)}, kOnlyWithOffload);
  table.fixed("ratio", {1.0}, kOnlyWithOffload);
  table.fixed("pipeline_read", {false}, kOnlyWithOffload);
  table.fixed("pipeline_write", {false}, kOnlyWithOffload);
  table.fixed("fast_init", {false}, kOnlyWithOffload);
  table.section("zero.offload_param");
  table.fixed("device", {"none"}, kTiersLater);
  table.fixed("nvme_path", {""}, kOnlyWithOffload);
  table.fixed("pin_memory", {true}, kOnlyWithOffload);
  table.fixed("buffer_count", {int64_t(5)}, kOnlyWithOffload);
  table.fixed("buffer_size", {int64_t(100'000'000)}, kOnlyWithOffload);
  table.fixed("max_in_cpu", {int64_t(1'000'000'000)}, kOnlyWithOffload);
}

void precision_fields(Table& table, RunConfig& c) {
  table.section("fp16");
  table.flag("enabled", c.fp16.enabled);
  table.real("loss_scale", c.fp16.loss_scale, {.high = 4294967296.0});
  table.integer("initial_scale_power", c.fp16.initial_scale_power, {.high = 32});
  table.integer("loss_scale_window", c.fp16.loss_scale_window, {.low = 1});
  table.integer("hysteresis", c.fp16.hysteresis, {.low = 1});
  table.flag("consecutive_hysteresis", c.fp16.consecutive_hysteresis);
  table.real("min_loss_scale", c.fp16.min_loss_scale, {.high = 4294967296.0, .above_low = true});
  table.fixed("auto_cast", {false}, "the model computes in fp16 throughout; write false");
  table.fixed("fp16_master_weights_and_grads", {false},
              "master weights are fp32, without which fp16 training loses updates; write false");
  table.section("bf16");
  table.flag("enabled", c.bf16.enabled);
  table.fixed("check_grad_overflow", {true}, "gradients are always checked; write true");
  table.fixed("immediate_grad_update", {false},
              "gradients are reduced where the plan says; write false");
  table.section("numerics");
  table.flag("reproducible", c.numerics.reproducible);
  table.choice("gradient_dtype", c.numerics.gradient_dtype, {"compute", "fp32"});
  table.integer("max_bad_steps", c.numerics.max_bad_steps, {.high = 1e6});
}

void recompute_fields(Table& table, Recompute& recompute) {
  table.section("activation_checkpointing");
  table.other("recompute", &recompute);
  table.fixed("partition_activations", {false},
              "there are no model-parallel ranks to cut activations over; write false");
  table.fixed("number_checkpoints", {"auto"},
              "recompute says which blocks are recomputed; write \"auto\"");
  table.fixed("contiguous_memory_optimization", {false, true},
              "kept activations always lie in the planned arena; write true or false");
  table.fixed("synchronize_checkpoint_boundary", {false},
              "nothing synchronises inside a step; write false");
  table.fixed("profile", {false}, "write false and set wall_clock_breakdown = true");
  table.fixed("cpu_checkpointing", {false},
              "activations stay in device memory for now; write false and recompute = \"full\"");
  table.fixed("offload", {"none"},
              "activations stay in device memory for now; write \"none\" and recompute = \"full\"");
}

void report_fields(Table& table, RunConfig& c) {
  table.section("memory");
  table.size("device_limit", c.memory.device_limit);
  table.size("host_limit", c.memory.host_limit);
  table.section("evaluation");
  table.integer("interval", c.evaluation.interval, {});
  table.integer("micro_batch_size", c.evaluation.micro_batch_size,
                {.low = 1, .high = 1e6, .automatic = true});
  table.integer("show_samples", c.evaluation.show_samples, {.high = 1000});
  table.section("profile");
  table.fixed("trace", {false},
              "traces come later; write false and set wall_clock_breakdown = true");
}

}  // namespace

std::vector<Field> fields_of(RunConfig& config) {
  Table table;
  batch_fields(table, config);
  model_fields(table, config.model);
  data_fields(table, config.data);
  run_fields(table, config.run);
  optimizer_fields(table, config.optimizer);
  scheduler_fields(table, config.scheduler);
  zero_fields(table, config.zero);
  zero_fixed_fields(table);
  offload_fields(table);
  precision_fields(table, config);
  recompute_fields(table, config.recompute);
  report_fields(table, config);
  return table.take();
}

}  // namespace zero
