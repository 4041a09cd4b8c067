#include <cmath>

#include "src/config/import/rules.hpp"
#include "src/config/optimizer_rows.hpp"

namespace zero {
namespace {

bool is_word(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == wanted;
}

bool begins(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && word->starts_with(wanted);
}

double number_of(const TomlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return double(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return 0;
}

/// A number at or below zero is Transformers' way to say nothing.
std::optional<Target> positive(const TomlValue& value, const char* key) {
  const bool number =
      std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
  if (number && number_of(value) <= 0) return Target{};
  return Target{key, value};
}

/// Shares of all steps, which stand below 1 there, have no twin.
std::optional<Target> interval(const TomlValue& value, const char* key) {
  const double number = number_of(value);
  if (number > 0 && number < 1) return std::nullopt;
  return positive(value, key);
}

/// read_launch_line() has made a number of updates of a share whose whole is known.
std::optional<Target> warmup_share(const TomlValue& value) {
  if (number_of(value) == 0) return Target{};
  const bool counted = std::holds_alternative<int64_t>(value);
  return Target{"scheduler.warmup_num_steps", counted ? value : TomlValue("auto")};
}

std::optional<Target> schedule(const TomlValue& value) {
  const char* key = "scheduler.type";
  if (is_word(value, "linear")) return Target{key, "WarmupDecayLR"};
  if (is_word(value, "cosine")) return Target{key, "WarmupCosineLR"};
  if (is_word(value, "constant")) return Target{key, "constant"};
  if (is_word(value, "constant_with_warmup")) return Target{key, "WarmupLR"};
  return std::nullopt;
}

/// adamw_torch, adamw_torch_fused, adamw_hf ... are one formula.
std::optional<Target> optimizer(const TomlValue& value) {
  const bool other = begins(value, "adamw_bnb") || begins(value, "adamw_8bit") ||
                     begins(value, "adamw_torch_4bit") || begins(value, "adamw_torch_8bit") ||
                     begins(value, "adamw_anyprecision");
  if (begins(value, "adamw_") && !other) return Target{"optimizer.type", "AdamW"};
  for (const OptimizerRow& row : optimizer_rows()) {
    const bool is_named = !row.transformers.empty() && is_word(value, row.transformers);
    if (is_named) return Target{"optimizer.type", row.name};
  }
  return std::nullopt;
}

std::optional<Target> recompute(const TomlValue& value) {
  const auto* on = std::get_if<bool>(&value);
  if (!on) return std::nullopt;
  return Target{"activation_checkpointing.recompute", *on ? "full" : "none"};
}

/// "simple", "zero_dp_2", "zero_dp_3 offload": FairScale's words in older releases.
std::optional<Target> sharded(const TomlValue& value) {
  if (is_word(value, "simple") || is_word(value, "zero_dp_2")) {
    return Target{"zero.stage", int64_t(2)};
  }
  if (is_word(value, "zero_dp_3")) return Target{"zero.stage", int64_t(3)};
  return std::nullopt;
}

/// "full_shard auto_wrap": what wraps modules has no meaning here.
std::optional<Target> fsdp(const TomlValue& value) {
  if (is_word(value, "full_shard") || is_word(value, "full_shard auto_wrap")) {
    return Target{"zero.stage", int64_t(3)};
  }
  if (is_word(value, "shard_grad_op") || is_word(value, "shard_grad_op auto_wrap")) {
    return Target{"zero.stage", int64_t(2)};
  }
  if (is_word(value, "no_shard")) return Target{"zero.stage", int64_t(0)};
  return std::nullopt;
}

constexpr std::string_view kLauncher = "the MPI launcher places and connects the ranks";
constexpr std::string_view kMetrics = "metrics.jsonl holds every step of a run";
constexpr std::string_view kSteps = "write a number of steps";
constexpr std::string_view kTrains = "the program trains, and evaluates where validation is given";

constexpr ImportRule kNumbers[] = {
    {.from = "--per_device_train_batch_size", .to = "train_micro_batch_size_per_gpu"},
    {.from = "--per_gpu_train_batch_size", .to = "train_micro_batch_size_per_gpu"},
    {.from = "--per_device_eval_batch_size", .to = "evaluation.micro_batch_size"},
    {.from = "--gradient_accumulation_steps", .to = "gradient_accumulation_steps"},
    {.from = "--learning_rate", .to = "optimizer.lr"},
    {.from = "--weight_decay", .to = "optimizer.weight_decay"},
    {.from = "--adam_beta1", .to = "optimizer.betas"},
    {.from = "--adam_beta2", .to = "optimizer.betas"},
    {.from = "--adam_epsilon", .to = "optimizer.eps"},
    {.from = "--optim", .why = "write adamw_torch", .convert = optimizer},
    {.from = "--max_grad_norm", .to = "gradient_clipping"},
    {.from = "--num_train_epochs",
     .convert = [](const TomlValue& value) { return positive(value, "run.epochs"); }},
    {.from = "--max_steps",
     .convert = [](const TomlValue& value) { return positive(value, "run.steps"); }},
    {.from = "--warmup_steps", .to = "scheduler.warmup_num_steps"},
    {.from = "--warmup_ratio", .convert = warmup_share},
    {.from = "--lr_scheduler_type",
     .why = "write linear, cosine, constant or constant_with_warmup",
     .convert = schedule},
    {.from = "--seed", .to = "run.seed"},
    {.from = "--logging_steps",
     .why = kSteps,
     .convert = [](const TomlValue& value) { return interval(value, "run.log_interval"); }},
    {.from = "--eval_steps",
     .why = kSteps,
     .convert = [](const TomlValue& value) { return interval(value, "evaluation.interval"); }},
    {.from = "--save_steps",
     .why = kSteps,
     .convert = [](const TomlValue& value) { return interval(value, "checkpoint.interval"); }},
    {.from = "--save_total_limit", .to = "checkpoint.keep"},
    {.from = "--save_only_model", .to = "checkpoint.weights_only"},
    {.from = "--load_best_model_at_end", .to = "checkpoint.load_best_at_end"},
    {.from = "--fp16", .to = "fp16.enabled"},
    {.from = "--bf16", .to = "bf16.enabled"},
    {.from = "--gradient_checkpointing", .why = "write true or false", .convert = recompute},
    {.from = "--sharded_ddp", .why = "write zero.stage=...", .convert = sharded},
    {.from = "--fsdp", .why = "write zero.stage=...", .convert = fsdp},
};

constexpr ImportRule kFiles[] = {
    {.from = "--output_dir", .to = "run.output"},
    {.from = "--train_file", .to = "data.train"},
    {.from = "--validation_file", .to = "data.validation"},
    {.from = "--max_train_samples", .to = "data.max_train_samples"},
    {.from = "--max_eval_samples", .to = "data.max_validation_samples"},
    {.from = "--max_val_samples", .to = "data.max_validation_samples"},
    {.from = "--block_size", .to = "data.sequence_length"},
    {.from = "--max_seq_length", .to = "data.sequence_length"},
    {.from = "--config_name",
     .to = "model.name",
     .why = "write model.name=... or its numbers",
     .names_size = true},
    {.from = "--model_name_or_path",
     .why = "its weights: model.init_from=FOLDER; a new model: model.name=NAME"},
    {.from = "--model_type", .why = "model.name or its numbers say it"},
    {.from = "--tokenizer_name",
     .why = "data.tokenizer=FOLDER names its vocab.json and merges.txt"},
    {.from = "--deepspeed", .why = "is the file that is imported"},
    {.from = "--deepspeed_config", .why = "is the file that is imported"},
    {.from = "--config_file", .why = "is the file that is imported"},
    {.from = "--resume_from_checkpoint",
     .why = "a second start in the same folder goes on by itself"},
};

/// What would change the training, and is not done.
constexpr ImportRule kRefused[] = {
    {.from = "--label_smoothing_factor", .why = "labels are not smoothed; write 0", .only = "0"},
    {.from = "--group_by_length", .why = "samples are of one length; write false", .only = "false"},
    {.from = "--adafactor", .why = "write --optim adamw_torch", .only = "false"},
    {.from = "--optim_args", .why = "optimizer.* has every setting; remove it", .only = kNoValue},
    {.from = "--lr_scheduler_kwargs",
     .why = "scheduler.* has every setting; remove it",
     .only = kNoValue},
    {.from = "--neftune_noise_alpha", .why = "no noise is added; remove it", .only = kNoValue},
    {.from = "--dropout", .why = "write model.dropout=... as key=value", .only = kNoValue},
};

constexpr ImportRule kNothing[] = {
    {.from = "--do_train", .why = kTrains},
    {.from = "--do_eval", .why = kTrains},
    {.from = "--do_predict", .why = kTrains},
    {.from = "--eval_strategy", .why = "evaluation.interval says how often"},
    {.from = "--evaluation_strategy", .why = "evaluation.interval says how often"},
    {.from = "--save_strategy", .why = "checkpoint.interval says how often"},
    {.from = "--logging_strategy", .why = kMetrics},
    {.from = "--logging_dir", .why = kMetrics},
    {.from = "--report_to", .why = kMetrics},
    {.from = "--overwrite_output_dir", .why = "an earlier run's files move to old-<n>/"},
    {.from = "--dataloader_num_workers", .why = "samples are read ahead"},
    {.from = "--dataloader_drop_last", .why = "every step has a whole batch"},
    {.from = "--ddp_timeout", .why = "run.watchdog says it"},
    {.from = "--ddp_find_unused_parameters", .why = "the plan knows every parameter's use"},
    {.from = "--torch_compile", .why = "every step is compiled before it runs"},
    {.from = "--tf32", .why = "fp32 is fp32; bf16.enabled = true is the fast way"},
    {.from = "--auto_find_batch_size", .why = "zeroapp plan INPUT --max-batch finds it"},
    {.from = "--gradient_checkpointing_kwargs", .why = "recompute is planned"},
    {.from = "--remove_unused_columns", .why = "data are tokens alone"},
    {.from = "--local_rank", .why = kLauncher},
    {.from = "--num_gpus", .why = kLauncher},
    {.from = "--num_nodes", .why = kLauncher},
    {.from = "--hostfile", .why = kLauncher},
    {.from = "--include", .why = kLauncher},
    {.from = "--exclude", .why = kLauncher},
    {.from = "--master_addr", .why = kLauncher},
    {.from = "--master_port", .why = kLauncher},
    {.from = "--launcher", .why = kLauncher},
    {.from = "--nproc_per_node", .why = kLauncher},
    {.from = "--nnodes", .why = kLauncher},
    {.from = "--node_rank", .why = kLauncher},
    {.from = "--num_processes", .why = kLauncher},
    {.from = "--num_machines", .why = kLauncher},
    {.from = "--use_deepspeed", .why = kLauncher},
};

std::vector<ImportRule> join() {
  std::vector<ImportRule> all(std::begin(kNumbers), std::end(kNumbers));
  all.insert(all.end(), std::begin(kFiles), std::end(kFiles));
  all.insert(all.end(), std::begin(kRefused), std::end(kRefused));
  all.insert(all.end(), std::begin(kNothing), std::end(kNothing));
  return all;
}

}  // namespace

std::span<const ImportRule> launch_rules() {
  static const std::vector<ImportRule> all = join();
  return all;
}

}  // namespace zero
