#include <algorithm>

#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "src/config/import/translation.hpp"
#include "src/config/key_rules.hpp"
#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"
#include "zero/config/model_keys.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

struct OfWidth {
  std::string_view key, how;
  int64_t (*value)(int64_t width);
};
constexpr OfWidth kOfWidth[] = {
    {"zero.reduce_bucket_size", "width^2", [](int64_t w) { return w * w; }},
    {"zero.stage3_prefetch_bucket_size", "0.9 width^2", [](int64_t w) { return w * w * 9 / 10; }},
    {"zero.stage3_param_persistence_threshold", "10 width", [](int64_t w) { return 10 * w; }},
};

struct OfTransformers {
  std::string_view key;
  TomlValue value;
};

/// Source: Transformers, TrainingArguments.
const OfTransformers kOfTransformers[] = {
    {"optimizer.lr", 5e-5},
    {"optimizer.betas", TomlArray{0.9, 0.999}},
    {"optimizer.eps", 1e-8},
    {"optimizer.weight_decay", 0.0},
    {"gradient_clipping", 1.0},
    {"scheduler.warmup_num_steps", int64_t(0)},
    {"train_micro_batch_size_per_gpu", int64_t(8)},
    {"fp16.enabled", false},
    {"bf16.enabled", false},
    {"activation_checkpointing.recompute", "none"},
    {"zero.stage3_gather_16bit_weights_on_model_save", false},
    {"run.epochs", int64_t(3)},
};

const std::string kMicroBatch = "train_micro_batch_size_per_gpu", kBatch = "train_batch_size";

/// True for the keys whose absence read_config() explains.
bool is_required(std::string_view key) {
  return key == "model.name" || key == "data.train" || key == "run.steps";
}

}  // namespace

std::optional<TomlValue> hf_default(std::string_view key) {
  for (const OfTransformers& usual : kOfTransformers) {
    if (usual.key == key) return usual.value;
  }
  return std::nullopt;
}

bool depends_on_width(std::string_view key) {
  for (const OfWidth& formula : kOfWidth) {
    if (formula.key == key) return true;
  }
  return false;
}

std::optional<Derived> derive_auto(std::string_view key, const RunConfig& config) {
  const int64_t width = model_numbers(config).count(kWidth);
  for (const OfWidth& formula : kOfWidth) {
    if (formula.key != key) continue;
    if (width == 0) return std::nullopt;
    return Derived{formula.value(width), std::string(formula.how)};
  }
  if (key == "scheduler.total_num_steps") return Derived{"auto", "run.steps"};
  if (key == "scheduler.warmup_max_lr") return Derived{"auto", "optimizer.lr"};
  if (key == "scheduler.warmup_min_lr") return Derived{0.0, "as Transformers"};
  if (key == "train_batch_size" || key == "gradient_accumulation_steps" ||
      key == "train_micro_batch_size_per_gpu") {
    return Derived{"auto", "train_batch_size = micro-batch x accumulation x ranks"};
  }
  return std::nullopt;
}

void Translation::complete(Framework framework) {
  need_what_is_asked();
  settle_precision();
  settle_schedule();
  settle_betas();
  settle_pinning();
  if (framework == Framework::deepspeed) write_deepspeed_defaults();
  if (framework == Framework::fsdp) write_fsdp_defaults();
  if (framework != Framework::deepspeed) default_to("gradient_clipping", 1.0, kHfDefault);
  if (hf_defaults_) write_hf_defaults();
  need_what_is_missing();
  count_checkpoints();
  drop_idle();
}

/// Marks the keys that only flags of the script give, because no default may replace those.
void Translation::need_what_is_asked() {
  const auto has_one = [&](const char* key, const char* other) { return has(key) || has(other); };
  for (const std::string& key : asked_) {
    const bool length = key == "run.epochs" || key == "run.steps";
    const bool half = key == "fp16.enabled" || key == "bf16.enabled";
    if (length && has_one("run.epochs", "run.steps")) continue;
    if (half && (config_.fp16.enabled || config_.bf16.enabled)) continue;
    if (key == kMicroBatch) continue;
    const bool cut = config_.train_micro_batch_size_per_gpu && config_.gradient_accumulation_steps;
    if (key == kBatch && cut) continue;
    const bool endless = length && config_.data.train == "synthetic";
    const bool warms_up = key == "scheduler.warmup_num_steps" && !has(key);
    if (warms_up) need("scheduler.type", "the warm-up belongs to it");
    need(endless ? "run.steps" : key, "a flag of the script may say it");
  }
}

/// Turns an "auto" of fp16 or bf16 off if the other is on.
void Translation::settle_precision() {
  const std::pair<const char*, bool> halves[] = {{"fp16.enabled", config_.bf16.enabled},
                                                 {"bf16.enabled", config_.fp16.enabled}};
  for (const auto& [key, other] : halves) {
    const auto found = settings_.find(key);
    if (!other || found == settings_.end() || !found->second.open) continue;
    const std::string why = "the other half type is on";
    keep(*find(key), false, why);
    retell(key, text("derived: ", key, " = false (", why, ")"));
  }
}

/// Uses Transformers' schedules for a launch line: their warm-up is linear up to the full rate. A
/// warm-up without a schedule selects the default one.
void Translation::settle_schedule() {
  const auto of_launch_line = [&](const char* key) {
    const auto found = settings_.find(key);
    return found != settings_.end() && found->second.origin == kLaunchLine;
  };
  const bool warms_up = of_launch_line("scheduler.warmup_num_steps");
  if ((warms_up || hf_defaults_) && !has("scheduler.type")) {
    default_to("scheduler.type", "WarmupDecayLR", text(kHfDefault, ", linear"));
  } else if (!of_launch_line("scheduler.type")) {
    return;
  }
  const ScheduleType type = config_.scheduler.type;
  if (type == ScheduleType::constant) return;
  default_to("scheduler.warmup_type", "linear", "as Transformers");
  default_to("scheduler.warmup_num_steps", int64_t(0), kHfDefault);
  if (type != ScheduleType::WarmupCosineLR) {
    default_to("scheduler.warmup_max_lr", "auto", "optimizer.lr");
  } else {
    default_to("scheduler.cos_min_ratio", 0.0, "as Transformers");
  }
}

/// Writes Adam's betas for every optimizer, as Transformers' flags have them.
void Translation::settle_betas() {
  const auto type = settings_.find("optimizer.type");
  if (type == settings_.end() || type->second.origin != kLaunchLine) return;
  const TomlValue usual = *hf_default("optimizer.betas");
  const std::array<double, 2> own = row_of(config_.optimizer.type).betas;
  if (usual != TomlValue(TomlArray{own[0], own[1]})) {
    default_to("optimizer.betas", usual, kHfDefault);
  }
}

/// Writes DeepSpeed's defaults that differ from this program's.
void Translation::write_deepspeed_defaults() {
  const ScheduleType schedule = config_.scheduler.type;
  const bool sharded = std::any_of(seen_.begin(), seen_.end(), [](const std::string& key) {
    return key.starts_with("zero_optimization.") || key == "deepspeed_config.zero_stage";
  });
  if (sharded) {
    default_to("zero.stage", int64_t(0), "DeepSpeed's default, which shards nothing");
    default_to("zero.overlap_comm", config_.zero.stage == 3, "DeepSpeed's default at this stage");
  }
  if (schedule == ScheduleType::OneCycle) refuse_moving_momentum();
  default_to("gradient_clipping", 0.0, "DeepSpeed's default");
  if (warms_up(schedule)) {
    default_to("scheduler.warmup_type", "log", "DeepSpeed's default");
  }
  if (schedule == ScheduleType::WarmupDecayLR) {
    default_to("scheduler.warmup_max_lr", 1e-3, "DeepSpeed's default");
  }
}

/// Copies pin_memory to parameters, because the old key set both.
void Translation::settle_pinning() {
  const bool old = seen_.count("zero_optimization.cpu_offload_use_pin_memory") != 0;
  if (!old || config_.offload_param.device == Home::none) return;
  default_to("zero.offload_param.pin_memory", config_.offload_optimizer.pin_memory,
             "as zero.offload_optimizer.pin_memory");
}

/// Writes FSDP's defaults. FULL_SHARD gathers every unit again in backward. FSDP offloads
/// parameters with their states; only stage 3 offloads parameters.
void Translation::write_fsdp_defaults() {
  default_to("zero.stage", int64_t(3), "FSDP's default, FULL_SHARD");
  if (config_.zero.stage != 3) return;
  default_to("zero.stage3_max_reuse_distance", int64_t(0), "FULL_SHARD gathers again in backward");
  if (config_.offload_optimizer.device == Home::cpu) {
    default_to("zero.offload_param.device", "cpu", "parameters are offloaded with their states");
  }
}

/// Writes defaults of the training script, which DeepSpeed's file does not hold.
void Translation::write_hf_defaults() {
  const bool endless = config_.data.train == "synthetic";
  if (!has("optimizer.type") && !has("optimizer.lr")) {
    default_to("optimizer.lr", *hf_default("optimizer.lr"), kHfDefault);
  }
  if (!has("run.steps") && !has("run.epochs") && !endless) {
    default_to("run.epochs", *hf_default("run.epochs"), kHfDefault);
  }
}

/// Reports the number of kept inputs, which follows from keys that are known by now.
void Translation::count_checkpoints() {
  retell(std::string(kNumberCheckpoints), "hint: " + kept_activations(config_));
}

void Translation::default_to(const std::string& key, const TomlValue& value,
                             const std::string& why) {
  if (has(key)) return;
  const Field* field = find(key);
  ZERO_REQUIRE(field, "no field ", key);
  keep(*field, value, why);
  lines_.push_back({key, "", text("added: ", key, " = ", to_text(value), ": ", why)});
}

/// Refuses DeepSpeed's default for cycle_momentum if the file omits the key.
void Translation::refuse_moving_momentum() {
  const std::string key = "scheduler.params.cycle_momentum";
  if (seen_.count(key)) return;
  const std::string what =
      "DeepSpeed's default is true, and here a cycle moves the learning rate alone; write "
      "\"cycle_momentum\": false";
  if (unsupported_ == Unsupported::leave_out) return say(key + ": left out, unsupported: " + what);
  refused_.push_back(
      text(settings_.at("scheduler.type").origin, ": ", key, ": unsupported: ", what));
}

void Translation::need(const std::string& key, const std::string& why) {
  if (has(key)) return;
  settings_[key] = {.value = {}, .origin = why, .open = true};
}

void Translation::need_what_is_missing() {
  const bool recomputes = std::any_of(seen_.begin(), seen_.end(), [](const std::string& key) {
    return key.starts_with("activation_checkpointing.");
  });
  const bool says_model = block_count(config_) > 0 || !config_.model.init_from.empty();
  if (!says_model) need("model.name", "the source names no model");
  need("data.train", "a text or token file; the source names no data");
  if (!has("run.epochs")) need("run.steps", "or run.epochs");
  const bool rates_of_its_own = config_.scheduler.type == ScheduleType::LRRangeTest;
  if (!has("optimizer.type") && !rates_of_its_own)
    need("optimizer.lr", "the source names no optimizer");
  const char* recompute = "activation_checkpointing.recompute";
  if (recomputes && hf_defaults_) default_to(recompute, *hf_default(recompute), kHfDefault);
  if (recomputes) {
    need(recompute, "full if the model calls DeepSpeed's checkpoint function, else none");
  }
  if (config_.scheduler.type == ScheduleType::OneCycle) {
    need("scheduler.cycle_min_lr", "DeepSpeed has no default of it");
    need("scheduler.cycle_max_lr", "DeepSpeed has no default of it");
  }
  need_micro_batch();
}

void Translation::need_micro_batch() {
  const std::string& micro = kMicroBatch;
  const bool sized = config_.train_batch_size != 0 || config_.train_micro_batch_size_per_gpu != 0;
  if (sized || (has(micro) && settings_.at(micro).given)) return;
  settings_.erase(micro);
  if (asked_.count(kBatch) && !asked_.count(micro)) {
    return retell(micro, "needs " + kBatch + "=...");
  }
  if (hf_defaults_ && !asked_.count(micro)) {
    default_to(micro, *hf_default(micro), kHfDefault);
    return retell(
        micro, text("derived: ", micro, " = ", to_text(*hf_default(micro)), " (", kHfDefault, ")"));
  }
  need(micro, "samples a rank computes at one time");
  retell(micro, "needs " + micro + "=...");
}

/// Drops keys without effect, because an input file would be refused for them.
void Translation::drop_idle() {
  for (const IdleSetting& idle : idle_settings(config_, fields_)) {
    const auto setting = settings_.find(idle.key);
    const bool undecided = std::any_of(
        idle.because.begin(), idle.because.end(),
        [&](const std::string& cause) { return has(cause) && settings_.at(cause).open; });
    if (setting == settings_.end() || setting->second.given || undecided) continue;
    retell(idle.key, text("left out: ", idle.key, " = ", idle.what));
    settings_.erase(setting);
  }
}

/// Returns the input file. read_config() refuses open settings, which are written as a word instead
/// of a number, or omitted.
std::string Translation::input_file() const {
  return "# Translated by zeroapp import-deepspeed; behind each value where it is from.\n" +
         by_section(fields_, [&](const Field& field, std::string_view name) -> std::string {
           const auto found = settings_.find(field.key);
           if (found == settings_.end()) return "";
           const Setting& setting = found->second;
           const std::string from = comment(setting.origin.substr(setting.origin.rfind('/') + 1));
           if (setting.open && is_required(field.key)) return text("# ", name, " = ...", from);
           if (setting.open) return text(name, " = \"needs a value\"", from);
           return text(name, " = ", to_text(setting.value), from);
         });
}

DeepSpeedImport Translation::take() {
  DeepSpeedImport result;
  for (const Line& line : lines_) result.report.push_back(line.subject + line.fate);
  for (const Field& field : fields_) {
    const bool open = has(field.key) && settings_.at(field.key).open;
    // The model's name is open too and implies the width.
    if (open && !depends_on_width(field.key)) result.needs.push_back(field.key + "=...");
  }
  result.refused = std::move(refused_);
  if (result.refused.empty()) result.toml = input_file();
  return result;
}

}  // namespace zero
