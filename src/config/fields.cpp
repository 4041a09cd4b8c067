#include "src/config/fields.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "src/config/fixed_keys.hpp"
#include "src/config/optimizer_rows.hpp"
#include "zero/config/steps.hpp"

namespace zero {
namespace {

constexpr Standing kOurs = Standing::ours, kSame = Standing::same, kCap = Standing::cap;

/// Collects fields under a section's name; one is as its section stands to DeepSpeed unless it says
/// otherwise.
class Table {
 public:
  explicit Table(Standing top) : standing_(top) {}
  void section(const std::string& name, Standing standing) {
    prefix_ = name + ".";
    standing_ = standing;
  }
  Field& integer(std::string_view key, int64_t& value, Range range) {
    return add(key, Integer{&value, range});
  }
  Field& real(std::string_view key, double& value, Range range) {
    return add(key, Real{&value, range});
  }
  Field& size(std::string_view key, int64_t& value) { return add(key, Size{&value}); }
  Field& duration(std::string_view key, int64_t& value) { return add(key, Duration{&value}); }
  Field& word(std::string_view key, std::string& value) { return add(key, &value); }
  Field& flag(std::string_view key, bool& value) { return add(key, &value); }
  Field& other(std::string_view key, Slot slot) { return add(key, std::move(slot)); }
  template <class Enum>
  Field& choice(std::string_view key, Enum& value, std::vector<std::string_view> names,
                std::string_view hint = "") {
    return add(key, Choice{.names = std::move(names),
                           .get = [&value] { return int(value); },
                           .set = [&value](int i) { value = Enum(i); },
                           .hint = hint});
  }
  /// Every key, those of a section side by side, the keys without a member behind the others.
  std::vector<Field> take() {
    for (const FixedKey& fixed : fixed_keys()) {
      fields_.push_back({std::string(fixed.key), slot_of(fixed), fixed.standing});
    }
    std::vector<Field> joined;
    joined.reserve(fields_.size());
    for (const auto& places : places_by_section()) {
      for (const size_t place : places) joined.push_back(std::move(fields_[place]));
    }
    return joined;
  }

 private:
  static Slot slot_of(const FixedKey& fixed) {
    if (fixed.standing == Standing::hint) {
      return Hint{fixed.accepted[0], fixed.range, fixed.reason};
    }
    return Fixed{fixed.accepted, fixed.reason, fixed.warns};
  }

  Field& add(std::string_view key, Slot slot) {
    fields_.push_back({prefix_ + std::string(key), std::move(slot), standing_});
    return fields_.back();
  }

  /// The places in fields_ of each section's keys, the sections in the order of their first one.
  std::vector<std::vector<size_t>> places_by_section() const {
    std::map<std::string_view, size_t> order;
    std::vector<std::vector<size_t>> places;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const auto [found, is_new] = order.emplace(section_of(fields_[i].key), places.size());
      if (is_new) places.emplace_back();
      places[found->second].push_back(i);
    }
    return places;
  }

  std::string prefix_;
  Standing standing_;
  std::vector<Field> fields_;
};

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
}

/// Keys of the same name in several families are one.
void number_fields(Table& table, const ModelTable& families, ModelConfig& c) {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : families) names.push_back(family.name);
  const auto get = [&c, names] {
    const auto found = std::find(names.begin(), names.end(), c.family);
    return found == names.end() ? 0 : int(found - names.begin());
  };
  const auto set = [&c, names](int i) { c.family = i == 0 ? "" : names[size_t(i)]; };
  table.other("family", Choice{.names = names, .get = get, .set = set, .hint = ""});
  std::set<std::string_view> known;
  for (const ModelFamily& family : families) {
    for (const auto& [key, range, otherwise, source] : family.counts) {
      int64_t& place = c.numbers.counts.try_emplace(std::string(key), 0).first->second;
      if (known.insert(key).second) table.integer(key, place, range);
    }
  }
  for (const ModelFamily& family : families) {
    for (const auto& [key, range, initial] : family.rates) {
      double& place = c.numbers.rates.try_emplace(std::string(key), initial).first->second;
      if (known.insert(key).second) table.real(key, place, range);
    }
  }
}

void model_fields(Table& table, ModelConfig& c) {
  table.section("model", kOurs);
  table.word("name", c.name);
  if (c.table) number_fields(table, *c.table, c);
  table.word("init_from", c.init_from);
}

void data_fields(Table& table, DataConfig& c) {
  table.section("data", kOurs);
  table.word("train", c.train);
  table.word("validation", c.validation);
  table.real("validation_fraction", c.validation_fraction, {.high = 1, .below_high = true});
  table.word("tokenizer", c.tokenizer);
  table.integer("sequence_length", c.sequence_length, {.low = 1, .high = 1 << 24});
  table.integer("max_train_samples", c.max_train_samples, {});
  table.integer("max_validation_samples", c.max_validation_samples, {});
  table.flag("changed", c.changed);
}

void run_fields(Table& table, SessionConfig& c) {
  table.section("run", kOurs);
  table.integer("steps", c.steps, {.high = kMostRunSteps});
  table.integer("epochs", c.epochs, {.high = 1e9});
  table.integer("stop_at", c.stop_at, {.high = kMostRunSteps});
  table.word("output", c.output);
  table.integer("seed", c.seed, {});
  table.integer("log_interval", c.log_interval, {.low = 1});
  table.duration("walltime", c.walltime);
  table.integer("watchdog", c.watchdog, {.low = 1, .high = 86400, .automatic = true});
  table.integer("threads", c.threads, {.high = 512});
  table.flag("share_device", c.share_device);
  table.flag("record", c.record);
  table.flag("state_hash", c.state_hash);
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
}

void zero_fields(Table& table, ZeroConfig& c) {
  table.section("zero", kSame);
  table.integer("stage", c.stage, {.high = 3});
  table.integer("reduce_bucket_size", c.reduce_bucket_size, {.low = 1}).standing = kCap;
  table.integer("allgather_bucket_size", c.allgather_bucket_size, {.low = 1}).standing = kCap;
  table.flag("overlap_comm", c.overlap_comm);
  table.integer("stage3_prefetch_bucket_size", c.stage3_prefetch_bucket_size, {}).standing = kCap;
  Field& kept =
      table.integer("stage3_param_persistence_threshold", c.stage3_param_persistence_threshold, {});
  kept.standing = kCap;
  kept.note =
      "it is compared with whole units, and a run says so where it keeps none of them; there it "
      "counts single parameters";
  table.integer("stage3_max_live_parameters", c.stage3_max_live_parameters, {}).standing = kCap;
  table.integer("stage3_max_reuse_distance", c.stage3_max_reuse_distance, {}).standing = kCap;
  table.flag("stage3_gather_16bit_weights_on_model_save",
             c.stage3_gather_16bit_weights_on_model_save);
}

void tier_fields(Table& table, RunConfig& c) {
  const std::vector<std::string_view> homes = {"none", "cpu", "nvme", "auto"};
  table.section("zero.offload_optimizer", kSame);
  table.choice("device", c.offload_optimizer.device, homes);
  table.word("nvme_path", c.offload_optimizer.nvme_path);
  table.integer("buffer_count", c.offload_optimizer.buffer_count,
                {.low = 1, .high = 1024, .automatic = true});
  table.real("ratio", c.offload_optimizer.ratio, {.high = 1});
  table.flag("pin_memory", c.offload_optimizer.pin_memory).note =
      "of GPUs: false leaves their host memory unpinned; a program for the host warns that it "
      "changes nothing";
  table.section("zero.offload_param", kSame);
  table.choice("device", c.offload_param.device, homes);
  table.word("nvme_path", c.offload_param.nvme_path);
  table.flag("pin_memory", c.offload_param.pin_memory).note =
      "as that of zero.offload_optimizer, with which it shares one block of host memory";
  table.section("aio", kSame);
  table.integer("block_size", c.aio.block_size, {.low = 4096, .high = 1 << 30}).note =
      "several folders take turns after so many bytes, but not below 1 MiB";
  table.integer("queue_depth", c.aio.queue_depth, {.low = 1, .high = 4096}).note =
      "for reads and for writes; a unit of fewer blocks keeps no more under way";
  table.integer("intra_op_parallelism", c.aio.intra_op_parallelism, {.low = 1, .high = 64}).note =
      "of the threads that take the place of io_uring where the machine has none; beside io_uring "
      "it does nothing, which a warning says, or an error where require_uring is true";
  table.flag("single_submit", c.aio.single_submit);
  table.flag("overlap_events", c.aio.overlap_events);
  table.flag("require_uring", c.aio.require_uring).standing = kOurs;
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
  table.section("bf16", kSame);
  table.flag("enabled", c.bf16.enabled);
  table.section("numerics", kOurs);
  table.flag("reproducible", c.numerics.reproducible);
  table.choice("gradient_dtype", c.numerics.gradient_dtype, {"compute", "fp32"});
  table.integer("max_bad_steps", c.numerics.max_bad_steps, {.high = 1e6});
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
}

void report_fields(Table& table, RunConfig& c) {
  table.section("memory", kOurs);
  table.size("device_limit", c.memory.device_limit);
  table.size("host_limit", c.memory.host_limit);
  table.section("evaluation", kOurs);
  table.integer("interval", c.evaluation.interval, {});
  table.integer("micro_batch_size", c.evaluation.micro_batch_size,
                {.low = 1, .high = 1e6, .automatic = true});
  table.integer("show_samples", c.evaluation.show_samples, {.high = 1000});
  table.section("profile", kOurs);
  table.flag("trace", c.profile.trace);
  table.section("export", kOurs);
  table.flag("at_end", c.export_model.at_end);
}

void checkpoint_fields(Table& table, CheckpointConfig& c) {
  table.section("checkpoint", kOurs);
  table.word("dir", c.dir);
  table.integer("interval", c.interval, {.high = 1e12});
  table.integer("keep", c.keep, {.high = 1e6});
  table.integer("keep_every", c.keep_every, {.high = 1e12});
  table.flag("async", c.async);
  table.choice("best_metric", c.best_metric, {"", "eval_loss"});
  table.flag("load_best_at_end", c.load_best_at_end);
  table.choice("resume", c.resume, {"auto", "require", "never"});
  table.word("resume_from", c.resume_from);
  table.integer("max_failures", c.max_failures, {.high = 1e6});
  table.choice("permissions", c.permissions, {"0700", "0750", "0755", "0770"});
  table.flag("weights_only", c.weights_only);
}

}  // namespace

std::vector<Field> fields_of(RunConfig& config) {
  Table table(kSame);
  batch_fields(table, config);
  model_fields(table, config.model);
  data_fields(table, config.data);
  run_fields(table, config.run);
  optimizer_fields(table, config.optimizer);
  scheduler_fields(table, config.scheduler);
  zero_fields(table, config.zero);
  tier_fields(table, config);
  precision_fields(table, config);
  recompute_fields(table, config);
  report_fields(table, config);
  checkpoint_fields(table, config.checkpoint);
  return table.take();
}

}  // namespace zero
