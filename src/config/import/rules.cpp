#include "src/config/import/rules.hpp"

#include <algorithm>
#include <cctype>

namespace zero {
namespace {

struct Sections {
  std::string_view deepspeed, ours;
};
constexpr Sections kSections[] = {
    {"zero_optimization.", "zero."},
    {"optimizer.params.", "optimizer."},
    {"scheduler.params.", "scheduler."},
    {"fp16.", "fp16."},
    {"bf16.", "bf16."},
    {"activation_checkpointing.", "activation_checkpointing."},
    {"aio.", "aio."},
};

bool is_word(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == wanted;
}

/// The old boolean names of the offload devices.
std::optional<Target> offload_device(const TomlValue& value, const char* key) {
  const auto* on = std::get_if<bool>(&value);
  if (!on) return std::nullopt;
  return Target{key, *on ? "cpu" : "none"};
}

/// DeepSpeed compares optimizers' names without regard to case.
std::optional<Target> optimizer_type(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  if (!word) return std::nullopt;
  std::string small = *word;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (small == "adamw") return Target{"optimizer.type", "AdamW"};
  if (small == "adam") return Target{"optimizer.type", "Adam"};
  if (small == "lamb") return Target{"optimizer.type", "LAMB"};
  return std::nullopt;
}

std::optional<Target> communication_type(const TomlValue& value) {
  const bool other_name = is_word(value, "bfp16") || is_word(value, "bfloat16");
  return Target{"communication_data_type", other_name ? TomlValue("bf16") : value};
}

/// An unquoted no is false to PyYAML, and Accelerate takes it for "no".
std::optional<Target> mixed_precision(const TomlValue& value) {
  if (is_word(value, "fp16")) return Target{"fp16.enabled", true};
  if (is_word(value, "bf16")) return Target{"bf16.enabled", true};
  if (is_word(value, "no") || value == TomlValue(false)) return Target{"bf16.enabled", false};
  return std::nullopt;
}

constexpr std::string_view kMetrics = "metrics.jsonl holds every step of a run";
constexpr std::string_view kLauncher = "the MPI launcher places and connects the ranks";

constexpr ImportRule kDeepSpeed[] = {
    {.from = "optimizer.type",
     .why = "write AdamW, Adam or LAMB: 1-bit and other optimizers are not built",
     .convert = optimizer_type},
    {.from = "optimizer.legacy_fusion", .why = "the update of a unit is always one operation"},
    {.from = "optimizer.params.max_grad_norm",
     .why = "write gradient_clipping at the top level",
     .only = "0"},
    {.from = "scheduler.type", .to = "scheduler.type", .why = "WarmupCosineLR comes nearest"},
    {.from = "scheduler.params.last_batch_iteration",
     .why = "the count of updates begins at the first step; write -1",
     .only = "-1"},
    {.from = "zero_optimization.cpu_offload",
     .why = "write true or false",
     .convert =
         [](const TomlValue& value) {
           return offload_device(value, "zero.offload_optimizer.device");
         }},
    {.from = "zero_optimization.cpu_offload_params",
     .why = "write true or false",
     .convert =
         [](const TomlValue& value) { return offload_device(value, "zero.offload_param.device"); }},
    {.from = "zero_optimization.cpu_offload_use_pin_memory",
     .to = "zero.offload_optimizer.pin_memory"},
    {.from = "zero_optimization.stage3_gather_fp16_weights_on_model_save",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.from = "communication_data_type", .convert = communication_type},
    {.from = "seq_parallel_comm_data_type", .why = "sequences are not cut over ranks"},
    {.from = "data_types.grad_accum_dtype", .why = "micro-batches are accumulated in fp32"},
    {.from = "dataloader_drop_last", .why = "every step has a whole batch"},
    {.from = "bfloat16.enabled", .to = "bf16.enabled"},
    {.from = "aio.thread_count",
     .why = "DeepSpeed's code does not read it; aio.intra_op_parallelism is what acts"},
    {.from = "flops_profiler.*", .why = "wall_clock_breakdown and summary.json have its figures"},
    {.from = "comms_logger.*", .why = "summary.json has the bytes of each collective"},
    {.from = "tensorboard.*", .why = kMetrics},
    {.from = "wandb.*", .why = kMetrics},
    {.from = "comet.*", .why = kMetrics},
    {.from = "csv_monitor.*", .why = kMetrics},
    {.from = "compile.*", .why = "every step is compiled before it runs"},
    {.from = "checkpoint.*", .why = "says how DeepSpeed lays out its own checkpoints"},
};

constexpr ImportRule kAccelerate[] = {
    {.from = "distributed_type",
     .why = "only DeepSpeed's files are imported; FSDP FULL_SHARD is zero.stage = 3, SHARD_GRAD_OP "
            "is 2, MULTI_GPU is 0",
     .only = "\"DEEPSPEED\""},
    {.from = "deepspeed_config.deepspeed_config_file", .why = "is read as well"},
    {.from = "deepspeed_config.zero_stage", .to = "zero.stage"},
    {.from = "deepspeed_config.gradient_accumulation_steps", .to = "gradient_accumulation_steps"},
    {.from = "deepspeed_config.gradient_clipping", .to = "gradient_clipping"},
    {.from = "deepspeed_config.offload_optimizer_device", .to = "zero.offload_optimizer.device"},
    {.from = "deepspeed_config.offload_optimizer_nvme_path",
     .to = "zero.offload_optimizer.nvme_path"},
    {.from = "deepspeed_config.offload_param_device", .to = "zero.offload_param.device"},
    {.from = "deepspeed_config.offload_param_nvme_path", .to = "zero.offload_param.nvme_path"},
    {.from = "deepspeed_config.zero3_save_16bit_model",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.from = "deepspeed_config.zero3_init_flag", .to = "zero3_init_flag"},
    {.from = "deepspeed_config.deepspeed_moe_layer_cls_names",
     .why = "mixtures of experts are not built",
     .only = kNoValue},
    {.from = "deepspeed_config.deepspeed_hostfile", .why = kLauncher},
    {.from = "deepspeed_config.deepspeed_multinode_launcher", .why = kLauncher},
    {.from = "deepspeed_config.deepspeed_inclusion_filter", .why = kLauncher},
    {.from = "deepspeed_config.deepspeed_exclusion_filter", .why = kLauncher},
    {.from = "mixed_precision", .why = "write fp16, bf16 or no", .convert = mixed_precision},
    {.from = "downcast_bf16", .why = "concerns TPUs"},
    {.from = "compute_environment", .why = kLauncher},
    {.from = "machine_rank", .why = kLauncher},
    {.from = "main_process_ip", .why = kLauncher},
    {.from = "main_process_port", .why = kLauncher},
    {.from = "num_machines", .why = "see the launch line"},
    {.from = "num_processes", .why = "see the launch line"},
    {.from = "num_cpu_threads_per_process", .to = "run.threads"},
    {.from = "same_network", .why = kLauncher},
    {.from = "rdzv_backend", .why = kLauncher},
    {.from = "gpu_ids", .why = kLauncher},
    {.from = "enable_cpu_affinity", .why = kLauncher},
    {.from = "use_cpu", .why = "the program is built for one kind of device"},
    {.from = "main_training_function", .why = "the program trains"},
    {.from = "commands.*", .why = "the program trains"},
    {.from = "command_file", .why = "the program trains"},
    {.from = "debug", .why = "every plan is verified before it runs"},
    {.from = "dynamo_backend", .why = "every step is compiled before it runs"},
    {.from = "dynamo_config.*", .why = "every step is compiled before it runs"},
    {.from = "tpu_env", .why = "concerns TPUs"},
    {.from = "tpu_use_cluster", .why = "concerns TPUs"},
    {.from = "tpu_use_sudo", .why = "concerns TPUs"},
    {.from = "fsdp_config.*", .why = "remove it beside DeepSpeed", .only = kNoValue},
    {.from = "megatron_lm_config.*", .why = "remove it beside DeepSpeed", .only = kNoValue},
};

}  // namespace

std::span<const ImportRule> deepspeed_rules() { return kDeepSpeed; }
std::span<const ImportRule> accelerate_rules() { return kAccelerate; }

const ImportRule* find_rule(std::span<const ImportRule> rules, std::string_view key) {
  for (const ImportRule& rule : rules) {
    const bool section = rule.from.ends_with(".*");
    const std::string_view name = rule.from.substr(0, rule.from.size() - (section ? 1 : 0));
    if (section ? key.starts_with(name) : key == name) return &rule;
  }
  return nullptr;
}

std::string same_key(std::string_view key) {
  if (key.find('.') == key.npos) return std::string(key);
  for (const auto& [deepspeed, ours] : kSections) {
    if (key.starts_with(deepspeed)) {
      return std::string(ours) + std::string(key.substr(deepspeed.size()));
    }
  }
  return "";
}

std::string deepspeed_key(std::string_view key) {
  if (key.find('.') == key.npos) return std::string(key);
  for (const auto& [deepspeed, ours] : kSections) {
    if (key.starts_with(ours)) {
      return std::string(deepspeed) + std::string(key.substr(ours.size()));
    }
  }
  return "";
}

}  // namespace zero
