#include "src/config/fields.hpp"

#include <algorithm>
#include <set>

#include "src/config/key_table.hpp"
#include "src/config/optimizer_rows.hpp"
#include "zero/config/objective_keys.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

constexpr Standing kOurs = Standing::ours, kSame = Standing::same;

void batch_fields(Table& table, RunConfig& c) {
  table.integer("train_batch_size", c.train_batch_size,
                {.low = 1, .high = 1e12, .automatic = true});
  table.integer("train_micro_batch_size_per_gpu", c.train_micro_batch_size_per_gpu,
                {.low = 1, .high = 1e6, .automatic = true, .maximum = true});
  table.integer("gradient_accumulation_steps", c.gradient_accumulation_steps,
                {.low = 1, .high = 1e6, .automatic = true});
  table.real("gradient_clipping", c.gradient_clipping, {.high = 1e30});
  table
      .choice("communication_data_type", c.communication_data_type, {"auto", "fp32", "bf16"},
              " (sums of gradients overflow in fp16)")
      .note =
      "auto and fp32 lose nothing: a gradient of one micro-batch travels as it is, a sum of "
      "several in fp32; bf16, of bf16 runs, rounds such a sum for its way and adds it in fp32 "
      "behind it";
  table.flag("wall_clock_breakdown", c.wall_clock_breakdown);
  table.integer("steps_per_print", c.run.log_interval, {.low = 1}).alias_of = "run.log_interval";
  table.refused("prescale_gradients", false,
                "sums of gradients are fp32 and cannot overflow where a division first would help");
  table.refused("gradient_predivide_factor", 1.0,
                "sums of gradients are fp32 and cannot overflow where a division first would help");
  table.refused("sparse_gradients", false,
                "the embedding's gradient shares its buffer with the head's and is dense");
  table.refused("memory_breakdown", false,
                "memory is planned: zeroapp plan INPUT prints every byte of it");
  table.refused("dump_state", false, "effective.toml in the run's folder holds every setting");
  table.either("zero_allow_untested_optimizer", false,
               "every optimizer is tested with every stage");
  table.either("zero_force_ds_cpu_optimizer", true,
               "the program brings its own optimizer on every device");
  table
      .other("zero3_init_flag",
             Fixed{{true, false}, "at stage 3 weights are born in shards; write true", true})
      .standing = Standing::always;
  table.refused("disable_allgather", false,
                "updated weights are always all-gathered, never broadcast");
}

/// Returns the choice of a count with words: "auto", stored as 0, or a word.
OneOf words_of(const ModelCount& count, int64_t& place) {
  OneOf choice{.names = {"auto"},
               .get = [&place] { return int(place); },
               .set = [&place](int i) { place = i; },
               .hint = ""};
  choice.names.insert(choice.names.end(), count.words.begin(), count.words.end());
  return choice;
}

/// Adds the numbers of all families. Families share a key of equal name.
void number_fields(Table& table, const ModelTable& families, ModelConfig& c) {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : families) names.push_back(family.name);
  const auto get = [&c, names] {
    const auto found = std::find(names.begin(), names.end(), c.family);
    return found == names.end() ? 0 : int(found - names.begin());
  };
  const auto set = [&c, names](int i) { c.family = i == 0 ? "" : names[size_t(i)]; };
  table.other("family", OneOf{.names = names, .get = get, .set = set, .hint = ""});
  std::set<std::string_view> known;
  for (const ModelFamily& family : families) {
    for (const ModelCount& count : family.counts) {
      int64_t& place = c.numbers.counts.try_emplace(std::string(count.name), 0).first->second;
      if (!known.insert(count.name).second) continue;
      if (count.words.empty())
        table.integer(count.name, place, count.range);
      else
        table.other(count.name, words_of(count, place));
    }
  }
  for (const ModelFamily& family : families) {
    for (const ModelRate& rate : family.rates) {
      double& place =
          c.numbers.rates.try_emplace(std::string(rate.name), rate.initial).first->second;
      if (known.insert(rate.name).second) table.real(rate.name, place, rate.range);
    }
  }
}

void model_fields(Table& table, ModelConfig& c) {
  table.section("model", kOurs);
  table.word("name", c.name);
  if (c.table) number_fields(table, *c.table, c);
  table.word("init_from", c.init_from);
  table.words("freeze", c.freeze);
  table.words("reinit", c.reinit);
}

void data_fields(Table& table, DataConfig& c) {
  table.section("data", kOurs);
  table.other("train", DataPaths{&c.train, &c.train_parts});
  table.word("validation", c.validation);
  table.real("validation_fraction", c.validation_fraction, {.high = 1, .below_high = true});
  table.word("tokenizer", c.tokenizer);
  table.integer("sequence_length", c.sequence_length, {.low = 1, .high = 1 << 24});
  table.integer("max_train_samples", c.max_train_samples, {});
  table.integer("max_validation_samples", c.max_validation_samples, {});
  table.flag("changed", c.changed);
}

/// Adds the keys that act only under some objectives.
void objective_fields(Table& table, DataConfig& c) {
  const Range id{.low = -1, .high = 1 << 24};
  table.word("source_field", c.source_field);
  table.word("target_field", c.target_field);
  table.word("source_prefix", c.source_prefix);
  table.integer("source_length", c.source_length, {.low = 1, .high = 1 << 24, .automatic = true});
  table.integer("target_length", c.sequence_length, {.low = 1, .high = 1 << 24}).alias_of =
      "data.sequence_length";
  table.choice("too_long", c.too_long, {"cut", "refuse"});
  table.word("length_buckets", c.length_buckets).note =
      "none, auto, or at most four pairs of lengths, sources by targets; of texts with a label "
      "lengths alone";
  table.integer("pad_id", c.pad_id, id);
  table.integer("eos_id", c.eos_id, id);
  table.integer("decoder_start_id", c.decoder_start_id, id);
  table.real("noise_density", c.noise_density, {.high = 1, .below_high = true});
  table.real("mean_noise_span_length", c.mean_noise_span_length, {.low = 1, .high = 1e6});
  table.integer("sentinel_id", c.sentinel_id, id);
  table.words("labels", c.labels);
  table.words("text_fields", c.text_fields);
  table.word("label_field", c.label_field);
  table.choice("packing", c.packing, {"auto", "documents", "stream", "none"});
  table.word("text_field", c.text_field);
  table.word("prompt_field", c.prompt_field);
  table.word("completion_field", c.completion_field);
  table.flag("special_tokens", c.special_tokens);
}

void run_fields(Table& table, SessionConfig& c) {
  table.section("run", kOurs);
  table.integer("steps", c.steps, {.high = kMostRunSteps});
  table.integer("epochs", c.epochs, {.high = 1e9});
  table.integer("stop_at", c.stop_at, {.high = kMostRunSteps});
  table.word("output", c.output);
  table.integer("seed", c.seed, {});
  table.integer("log_interval", c.log_interval, {.low = 1});
  table.other("walltime", Duration{&c.walltime});
  table.integer("watchdog", c.watchdog, {.low = 1, .high = 86400, .automatic = true});
  table.integer("threads", c.threads, {.high = 512});
  table.flag("share_device", c.share_device);
  table.flag("record", c.record);
  table.flag("state_hash", c.state_hash);
  table.integer("digest_interval", c.digest_interval, {.high = kMostRunSteps});
  table.integer("audit_interval", c.audit_interval, {.high = kMostRunSteps});
  table.choice("audit", c.audit, {"stop", "warn"});
  table.word("prometheus", c.prometheus);
  table.word("machine", c.machine);
}

void optimizer_fields(Table& table, OptimizerConfig& c) {
  table.section("optimizer", kSame);
  table.choice("type", c.type, optimizer_names());
  table.real("lr", c.lr, {.high = 1e3});
  table.other("betas", &c.betas);
  table.real("eps", c.eps, {.high = 1, .above_low = true});
  table.real("weight_decay", c.weight_decay, {.high = 1e3});
  table.flag("adam_w_mode", c.adam_w_mode);
  table.real("max_coeff", c.max_coeff, {.high = 1e6, .above_low = true});
  table.real("min_coeff", c.min_coeff, {.high = 1e6});
  table.real("momentum", c.momentum, {.high = 1, .below_high = true});
  table.real("dampening", c.dampening, {.high = 1});
  table.flag("nesterov", c.nesterov);
  table.either("torch_adam", false,
               "Adam and AdamW are PyTorch's formulas in the program's own kernel");
  table.refused("bias_correction", true,
                "momentum and variance are always corrected for their start at zero");
  table.refused("amsgrad", false, "the variance keeps no maximum over steps");
}

void scheduler_fields(Table& table, ScheduleConfig& c) {
  table.section("scheduler", kSame);
  table
      .choice("type", c.type,
              {"constant", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle", "LRRangeTest",
               "WSD"})
      .note = "WSD is ours";
  table.choice("warmup_type", c.warmup_type, {"linear", "log"});
  table.integer("warmup_num_steps", c.warmup_num_steps, {.high = 1e12});
  table.real("warmup_min_lr", c.warmup_min_lr, {.high = 1e3});
  table.real("warmup_max_lr", c.warmup_max_lr, {.high = 1e3, .above_low = true, .automatic = true});
  table.integer("total_num_steps", c.total_num_steps, {.low = 1, .high = 1e12, .automatic = true});
  table.real("warmup_min_ratio", c.warmup_min_ratio, {.high = 1});
  table.real("cos_min_ratio", c.cos_min_ratio, {.high = 1});
  table.real("cycle_min_lr", c.cycle_min_lr, {.high = 1e3});
  table.real("cycle_max_lr", c.cycle_max_lr, {.high = 1e3, .above_low = true, .automatic = true});
  table.integer("cycle_first_step_size", c.cycle_first_step_size, {.low = 1, .high = 1e12});
  table.integer("cycle_second_step_size", c.cycle_second_step_size,
                {.low = 1, .high = 1e12, .automatic = true});
  table.integer("cycle_first_stair_count", c.cycle_first_stair_count, {.high = 1e6});
  table.integer("cycle_second_stair_count", c.cycle_second_stair_count, {.low = -1, .high = 1e6});
  table.integer("decay_step_size", c.decay_step_size, {.high = 1e12});
  table.real("decay_lr_rate", c.decay_lr_rate, {.high = 1e6});
  table.real("lr_range_test_min_lr", c.lr_range_test_min_lr, {.high = 1e3});
  table.integer("lr_range_test_step_size", c.lr_range_test_step_size, {.low = 1, .high = 1e12});
  table.real("lr_range_test_step_rate", c.lr_range_test_step_rate, {.high = 1e6});
  table.flag("lr_range_test_staircase", c.lr_range_test_staircase);
  table.integer("wsd_decay_steps", c.wsd_decay_steps, {.low = 1, .high = 1e12, .automatic = true})
      .standing = kOurs;
  table.choice("wsd_decay_type", c.wsd_decay_type, {"linear", "cosine", "sqrt"}).standing = kOurs;
  table.real("wsd_min_ratio", c.wsd_min_ratio, {.high = 1}).standing = kOurs;
  table.refused("cycle_momentum", false,
                "a cycle moves the learning rate alone, betas stay as optimizer.betas says");
}

void precision_fields(Table& table, RunConfig& c) {
  table.section("fp16", kSame);
  table.flag("enabled", c.fp16.enabled);
  table.real("loss_scale", c.fp16.loss_scale, {.high = 4294967296.0});
  table.integer("initial_scale_power", c.fp16.initial_scale_power, {.high = 32});
  table.integer("loss_scale_window", c.fp16.loss_scale_window, {.low = 1});
  table.integer("hysteresis", c.fp16.hysteresis, {.low = 1});
  table.flag("consecutive_hysteresis", c.fp16.consecutive_hysteresis);
  table.real("min_loss_scale", c.fp16.min_loss_scale, {.high = 4294967296.0, .above_low = true});
  table.refused("auto_cast", false, "the model computes in fp16 throughout");
  table.refused("fp16_master_weights_and_grads", false,
                "master weights are fp32, without which fp16 training loses updates");
  table.section("bf16", kSame);
  table.flag("enabled", c.bf16.enabled);
  table.always("check_grad_overflow", "gradients are always checked");
  table.refused("immediate_grad_update", false, "gradients are reduced where the plan says");
  table.refused(
      "bf16_master_weights_and_grads", false,
      "master weights are fp32, kept as the bf16 weight and the 16 bits that complete it");
  table.refused("bf16_optimizer_states", false, "states of optimizers are fp32",
                ", and zero.stage = 1 to shard them");
  table.section("numerics", kOurs);
  table.flag("reproducible", c.numerics.reproducible);
  table.choice("gradient_dtype", c.numerics.gradient_dtype, {"compute", "fp32"});
  table.integer("max_bad_steps", c.numerics.max_bad_steps, {.high = 1e6});
  table.real("spike_factor", c.numerics.spike_factor, {.high = 1e6});
  table.choice("attention", c.numerics.attention, {"deterministic", "fast"});
}

void recompute_fields(Table& table, RunConfig& c) {
  OffloadActivationsConfig& offload = c.offload_activations;
  table.section("activation_checkpointing", kOurs);
  table.other("recompute", &c.recompute);
  table.choice("offload", offload.offload, {"none", "cpu", "nvme"});
  table.flag("cpu_checkpointing", offload.cpu_checkpointing).standing = kSame;
  table.word("nvme_path", offload.nvme_path);
  table.integer("buffer_count", offload.buffer_count, {.low = 1, .high = 1024});
  table.refused("partition_activations", false,
                "there are no model-parallel ranks to cut activations over");
  table.hint("number_checkpoints", "auto",
             "recompute says how many blocks keep no more than their input", {.automatic = true});
  table.either("contiguous_memory_optimization", false,
               "kept activations always lie in the planned arena");
  table.refused("synchronize_checkpoint_boundary", false, "nothing synchronises inside a step");
  table.refused("profile", false, "", " and set wall_clock_breakdown = true");
}

void report_fields(Table& table, RunConfig& c) {
  table.section("memory", kOurs);
  table.other("device_limit", Size{&c.memory.device_limit});
  table.other("host_limit", Size{&c.memory.host_limit});
  table.section("evaluation", kOurs);
  table.integer("interval", c.evaluation.interval, {});
  table.integer("micro_batch_size", c.evaluation.micro_batch_size,
                {.low = 1, .high = 1e6, .automatic = true});
  table.integer("show_samples", c.evaluation.show_samples, {.high = 1000});
  table.flag("generate", c.evaluation.generate);
  table.integer("generate_samples", c.evaluation.generate_samples, {});
  table.word("choices", c.evaluation.choices);
  table.word("documents", c.evaluation.documents);
  table.integer("prefix_token_id", c.evaluation.prefix_token_id, {.low = -1, .high = 1 << 24});
  generation_fields(table, c.generation);
  table.section("profile", kOurs);
  table.flag("trace", c.profile.trace);
  table.section("tensorboard", kSame);
  table.flag("enabled", c.tensorboard.enabled);
  table.word("output_path", c.tensorboard.output_path);
  table.word("job_name", c.tensorboard.job_name);
  table.flag("deepspeed_tags", c.tensorboard.deepspeed_tags).standing = kOurs;
  table.section("csv_monitor", kSame);
  table.flag("enabled", c.csv_monitor.enabled);
  table.word("output_path", c.csv_monitor.output_path);
  table.word("job_name", c.csv_monitor.job_name);
  table.section("export", kOurs);
  table.flag("at_end", c.export_model.at_end);
}

/// Returns the choice of a metric. The last name is a synonym of the loss.
OneOf best_metrics(const ModelTable* models, std::string& metric) {
  std::vector<std::string_view> names = metric_names(models);
  names.insert(names.begin(), "");
  names.push_back("eval_loss");
  const auto get = [&metric, names] {
    const auto found = std::ranges::find(names, metric);
    return found == names.end() ? 0 : int(found - names.begin());
  };
  const auto set = [&metric, names](int i) {
    metric = size_t(i) + 1 == names.size() ? kLossMetric : names[size_t(i)];
  };
  return {.names = names, .get = get, .set = set, .hint = ""};
}

void checkpoint_fields(Table& table, const ModelTable* models, CheckpointConfig& c) {
  table.section("checkpoint", kOurs);
  table.word("dir", c.dir);
  table.integer("interval", c.interval, {.high = 1e12});
  table.integer("keep", c.keep, {.high = 1e6});
  table.integer("keep_every", c.keep_every, {.high = 1e12});
  table.flag("async", c.async);
  table.other("best_metric", best_metrics(models, c.best_metric));
  table.integer("patience", c.patience, {.high = 1e6});
  table.flag("load_best_at_end", c.load_best_at_end);
  table.choice("resume", c.resume, {"auto", "require", "never"});
  table.word("resume_from", c.resume_from);
  table.integer("max_failures", c.max_failures, {.high = 1e6});
  table.choice("permissions", c.permissions, {"0700", "0750", "0755", "0770"});
  table.flag("weights_only", c.weights_only);
}

}  // namespace

std::vector<Field> fields_of(RunConfig& config) {
  Table table;
  batch_fields(table, config);
  model_fields(table, config.model);
  data_fields(table, config.data);
  objective_fields(table, config.data);
  run_fields(table, config.run);
  optimizer_fields(table, config.optimizer);
  scheduler_fields(table, config.scheduler);
  zero_fields(table, config);
  precision_fields(table, config);
  recompute_fields(table, config);
  report_fields(table, config);
  checkpoint_fields(table, config.model.table, config.checkpoint);
  return table.take();
}

}  // namespace zero
