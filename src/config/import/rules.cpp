#include "src/config/import/rules.hpp"

#include <algorithm>
#include <cctype>

#include "src/config/optimizer_rows.hpp"

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
    {"bfloat16.", "bf16."},
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

std::string in_lower_case(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return word;
}

/// DeepSpeed compares optimizers' names without regard to case.
std::optional<Target> optimizer_type(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  if (!word) return std::nullopt;
  for (const OptimizerRow& row : optimizer_rows()) {
    if (in_lower_case(*word) == in_lower_case(row.name)) return Target{"optimizer.type", row.name};
  }
  return Target{"optimizer.type", value};  // refused, with the names of those that there are
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

constexpr std::string_view kLauncher = "the MPI launcher places and connects the ranks";

/// The oldest form, a boolean, was stage 1.
std::optional<Target> old_stage(const TomlValue& value) {
  const auto* on = std::get_if<bool>(&value);
  if (!on) return std::nullopt;
  return Target{"zero.stage", int64_t(*on ? 1 : 0)};
}

/// A bucket of 0 elements sends each gradient alone there; what Transformers derives is as long as
/// one.
std::optional<Target> reduce_bucket(const TomlValue& value) {
  const bool zero = value == TomlValue(int64_t(0)) || value == TomlValue(0.0);
  return Target{"zero.reduce_bucket_size", zero ? TomlValue("auto") : value};
}

constexpr ImportRule kDeepSpeed[] = {
    {.from = "optimizer.type",
     .why = "write one of these: 1-bit and other optimizers are not built",
     .convert = optimizer_type},
    {.from = "optimizer.params.max_grad_norm",
     .why = "write gradient_clipping at the top level",
     .only = "0"},
    {.from = "optimizer.params.adamw_mode", .to = "optimizer.adam_w_mode"},
    {.from = "scheduler.type", .to = "scheduler.type", .why = "WarmupCosineLR comes nearest"},
    {.from = "scheduler.params.last_batch_iteration",
     .why = "the count of updates begins at the first step; write -1",
     .only = "-1"},
    {.from = "zero_optimization", .why = "write a section with its stage", .convert = old_stage},
    {.from = "allgather_size", .to = "zero.allgather_bucket_size"},
    {.from = "zero_optimization.reduce_bucket_size", .convert = reduce_bucket},
    {.from = "zero_optimization.prefetch_bucket_size", .to = "zero.stage3_prefetch_bucket_size"},
    {.from = "zero_optimization.param_persistence_threshold",
     .to = "zero.stage3_param_persistence_threshold"},
    {.from = "zero_optimization.model_persistence_threshold",
     .to = "zero.stage3_model_persistence_threshold"},
    {.from = "zero_optimization.max_live_parameters", .to = "zero.stage3_max_live_parameters"},
    {.from = "zero_optimization.max_reuse_distance", .to = "zero.stage3_max_reuse_distance"},
    {.from = "zero_optimization.gather_16bit_weights_on_model_save",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.from = "zero_optimization.module_granularity_threshold",
     .to = "zero.stage3_module_granularity_threshold"},
    {.from = "zero_optimization.use_all_reduce_for_fetch_params",
     .to = "zero.stage3_use_all_reduce_for_fetch_params"},
    {.from = "zero_optimization.allgather_sequential", .to = "zero.stage3_allgather_sequential"},
    {.from = "zero_optimization.cpu_offload",
     .why = "write true or false",
     .convert =
         [](const TomlValue& value) {
           return offload_device(value, "zero.offload_optimizer.device");
         }},
    {.from = "zero_optimization.cpu_offload_param",
     .why = "write true or false",
     .convert =
         [](const TomlValue& value) { return offload_device(value, "zero.offload_param.device"); }},
    {.from = "zero_optimization.cpu_offload_params",
     .why = "write true or false",
     .convert =
         [](const TomlValue& value) { return offload_device(value, "zero.offload_param.device"); }},
    {.from = "zero_optimization.cpu_offload_use_pin_memory",
     .to = "zero.offload_optimizer.pin_memory"},
    {.from = "zero_optimization.stage3_gather_fp16_weights_on_model_save",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.from = "communication_data_type", .convert = communication_type},
    {.from = "gradient_allreduce_op",
     .why = "gradients are averaged over all tokens of a batch; write \"mean\"",
     .only = "\"mean\""},
    {.from = "managed_gradient_accumulation",
     .why = "gradient_accumulation_steps says how many micro-batches a step has; write true",
     .only = "true"},
    {.from = "sequence_parallel_size", .why = "sequences are not cut; write 1", .only = "1"},
    {.from = "data_parallel_size",
     .why = "the launcher says how many ranks run; remove it",
     .only = kNoValue},
};

/// Without a word of ZeRO every rank has all states.
std::optional<Target> distributed_type(const TomlValue& value) {
  if (is_word(value, "DEEPSPEED") || is_word(value, "FSDP")) return Target{};
  const bool alone = is_word(value, "NO") || value == TomlValue(false);
  const auto* word = std::get_if<std::string>(&value);
  if (alone || (word && word->starts_with("MULTI_"))) return Target{"zero.stage", int64_t(0)};
  return std::nullopt;
}

constexpr ImportRule kAccelerate[] = {
    {.from = "distributed_type",
     .why = "write DEEPSPEED, FSDP, MULTI_GPU or NO",
     .convert = distributed_type},
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
    {.from = "deepspeed_config.enable_msamp",
     .why = "every op's type is planned; write mixed_precision: bf16",
     .only = "false"},
    {.from = "deepspeed_config.msamp_opt_level", .why = "acts only with enable_msamp"},
    {.from = "deepspeed_config.deepspeed_hostfile", .why = kLauncher},
    {.from = "deepspeed_config.deepspeed_multinode_launcher", .why = kLauncher},
    {.from = "deepspeed_config.deepspeed_inclusion_filter", .why = kLauncher},
    {.from = "deepspeed_config.deepspeed_exclusion_filter", .why = kLauncher},
    {.from = "mixed_precision", .why = "write fp16, bf16 or no", .convert = mixed_precision},
    {.from = "gradient_accumulation_steps", .to = "gradient_accumulation_steps"},
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
    {.from = "tpu_name", .why = "concerns TPUs"},
    {.from = "tpu_zone", .why = "concerns TPUs"},
    {.from = "tpu_vm", .why = "concerns TPUs"},
    {.from = "mpirun_config.*", .why = kLauncher},
    {.from = "ipex_config.*", .why = "the program brings its own kernels"},
    {.from = "fp8_config.*", .why = "write mixed_precision: bf16", .only = kNoValue},
    {.from = "parallelism_config.*",
     .why = "a model is cut by ZeRO alone; remove it",
     .only = kNoValue},
    {.from = "fsdp_config.*", .why = "Accelerate reads it with distributed_type: FSDP"},
    {.from = "megatron_lm_config.*",
     .why = "Accelerate reads it with distributed_type: MEGATRON_LM"},
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
