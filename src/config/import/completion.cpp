#include <algorithm>

#include "src/config/import/derive.hpp"
#include "src/config/import/translation.hpp"
#include "src/config/rules.hpp"
#include "zero/base/error.hpp"

namespace zero {

void Translation::complete() {
  write_defaults();
  need_what_is_missing();
  drop_idle();
}

/// Values that DeepSpeed's code has where its file says nothing, and this program has not.
void Translation::write_defaults() {
  const ScheduleType schedule = config_.scheduler.type;
  const bool sharded = std::any_of(seen_.begin(), seen_.end(), [](const std::string& key) {
    return key.starts_with("zero_optimization.") || key == "deepspeed_config.zero_stage";
  });
  if (sharded) {
    default_to("zero.stage", int64_t(0), "DeepSpeed's default, which shards nothing");
    default_to("zero.overlap_comm", config_.zero.stage == 3, "DeepSpeed's default at this stage");
  }
  default_to("gradient_clipping", 0.0, "DeepSpeed's default");
  if (schedule != ScheduleType::constant) {
    default_to("scheduler.warmup_type", "log", "DeepSpeed's default");
  }
  if (schedule == ScheduleType::WarmupDecayLR) {
    default_to("scheduler.warmup_max_lr", 1e-3, "DeepSpeed's default");
  }
}

void Translation::default_to(const std::string& key, const TomlValue& value,
                             const std::string& why) {
  if (has(key)) return;
  const Field* field = find(key);
  ZERO_REQUIRE(field, "no field ", key);
  keep(*field, value, why);
  lines_.push_back({key, "", text("added: ", key, " = ", to_text(value), ": ", why)});
}

void Translation::need(const std::string& key, const std::string& why) {
  if (has(key)) return;
  settings_[key] = {.value = {}, .origin = why, .open = true};
}

void Translation::need_what_is_missing() {
  const ModelConfig& model = config_.model;
  const bool recomputes = std::any_of(seen_.begin(), seen_.end(), [](const std::string& key) {
    return key.starts_with("activation_checkpointing.");
  });
  if (model.layers == 0) need("model.name", "the source names no model");
  need("data.train", "a text or token file; the source names no data");
  if (config_.run.epochs == 0) need("run.steps", "or run.epochs");
  if (!has("optimizer.type")) need("optimizer.lr", "the source names no optimizer");
  if (recomputes) {
    need("activation_checkpointing.recompute",
         "full if the model calls DeepSpeed's checkpoint function, else none");
  }
  const std::string micro = "train_micro_batch_size_per_gpu";
  const bool sized = config_.train_batch_size != 0 || config_.train_micro_batch_size_per_gpu != 0;
  if (sized || (has(micro) && settings_.at(micro).given)) return;
  settings_.erase(micro);
  need(micro, "samples a rank computes at one time");
  retell(micro, "needs " + micro + "=...");
}

/// A key that does nothing beside the others would be refused in an input file.
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

DeepSpeedImport Translation::take() {
  DeepSpeedImport result;
  for (const Line& line : lines_) result.report.push_back(line.subject + line.fate);
  for (const Field& field : fields_) {
    const bool open = has(field.key) && settings_.at(field.key).open;
    // The name of the model, which is open too, brings its width.
    if (open && !depends_on_width(field.key)) result.needs.push_back(field.key + "=...");
  }
  result.refused = std::move(refused_);
  if (result.refused.empty()) result.toml = input_file(fields_, settings_);
  return result;
}

}  // namespace zero
