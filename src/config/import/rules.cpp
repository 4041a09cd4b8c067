#include "src/config/import/rules.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

bool is_word(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == wanted;
}

std::string in_lower_case(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return word;
}

/// DeepSpeed compares optimizers' names without regard to case.
std::optional<Target> optimizer_type(const TomlValue& value, std::string_view) {
  const auto* word = std::get_if<std::string>(&value);
  if (!word) return std::nullopt;
  for (const OptimizerRow& row : optimizer_rows()) {
    if (in_lower_case(*word) == in_lower_case(row.name)) return Target{"optimizer.type", row.name};
  }
  return Target{"optimizer.type", value};  // refused, with the names of those that there are
}

/// An unquoted no is false to PyYAML, and Accelerate takes it for "no".
std::optional<Target> mixed_precision(const TomlValue& value, std::string_view) {
  if (is_word(value, "fp16")) return Target{"fp16.enabled", true};
  if (is_word(value, "bf16")) return Target{"bf16.enabled", true};
  if (is_word(value, "no") || value == TomlValue(false)) return Target{"bf16.enabled", false};
  return std::nullopt;
}

/// Without a word of ZeRO every rank has all states.
std::optional<Target> distributed_type(const TomlValue& value, std::string_view) {
  if (is_word(value, "DEEPSPEED") || is_word(value, "FSDP")) return Target{};
  const bool alone = is_word(value, "NO") || value == TomlValue(false);
  const auto* word = std::get_if<std::string>(&value);
  if (alone || (word && word->starts_with("MULTI_"))) return Target{"zero.stage", int64_t(0)};
  return std::nullopt;
}

constexpr std::string_view kZero = "zero_optimization.";

constexpr ImportRule kDeepSpeed[] = {
    {.from = "optimizer.type",
     .why = "1-bit and other optimizers are not built: write AdamW, Adam, LAMB, Lion or SGD",
     .convert = optimizer_type},
    {.from = "optimizer.params.max_grad_norm",
     .why = "write gradient_clipping at the top level",
     .only = "0"},
    {.from = "optimizer.params.adamw_mode", .to = "optimizer.adam_w_mode"},
    {.from = "scheduler.type", .to = "scheduler.type", .why = "WarmupCosineLR comes nearest"},
    {.from = "scheduler.params.last_batch_iteration",
     .why = "the count of updates begins at the first step; write -1",
     .only = "-1"},
    // The oldest form, a boolean, was stage 1.
    {.from = "zero_optimization",
     .to = "zero.stage",
     .why = "write a section with its stage",
     .values = "true=1|false=0"},
    {.from = "allgather_size", .to = "zero.allgather_bucket_size"},
    // A bucket of 0 elements sends each gradient alone there; what Transformers derives is as long
    // as one.
    {.in = kZero,
     .from = "reduce_bucket_size",
     .to = "zero.reduce_bucket_size",
     .values = "0=auto|0.0=auto|*"},
    {.in = kZero,
     .from = "prefetch_bucket_size param_persistence_threshold model_persistence_threshold "
             "max_live_parameters max_reuse_distance gather_16bit_weights_on_model_save "
             "module_granularity_threshold use_all_reduce_for_fetch_params allgather_sequential",
     .to = "zero.stage3_*"},
    {.in = kZero,
     .from = "cpu_offload",
     .to = "zero.offload_optimizer.device",
     .why = "write true or false",
     .values = "true=cpu|false=none"},
    {.in = kZero,
     .from = "cpu_offload_param cpu_offload_params",
     .to = "zero.offload_param.device",
     .why = "write true or false",
     .values = "true=cpu|false=none"},
    {.in = kZero, .from = "cpu_offload_use_pin_memory", .to = "zero.offload_optimizer.pin_memory"},
    {.in = kZero,
     .from = "stage3_gather_fp16_weights_on_model_save",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.from = "communication_data_type",
     .to = "communication_data_type",
     .values = "bfp16=bf16|bfloat16=bf16|*"},
};

constexpr std::string_view kLauncher = "the MPI launcher places and connects the ranks";
constexpr std::string_view kSection = "deepspeed_config.";

constexpr ImportRule kAccelerate[] = {
    {.from = "distributed_type",
     .why = "write DEEPSPEED, FSDP, MULTI_GPU or NO",
     .convert = distributed_type},
    {.in = kSection, .from = "deepspeed_config_file", .why = "is read as well"},
    {.in = kSection, .from = "zero_stage", .to = "zero.stage"},
    {.in = kSection, .from = "gradient_accumulation_steps gradient_clipping", .to = "*"},
    {.in = kSection, .from = "offload_optimizer_device", .to = "zero.offload_optimizer.device"},
    {.in = kSection,
     .from = "offload_optimizer_nvme_path",
     .to = "zero.offload_optimizer.nvme_path"},
    {.in = kSection, .from = "offload_param_device", .to = "zero.offload_param.device"},
    {.in = kSection, .from = "offload_param_nvme_path", .to = "zero.offload_param.nvme_path"},
    {.in = kSection,
     .from = "zero3_save_16bit_model",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.in = kSection, .from = "zero3_init_flag", .to = "zero3_init_flag"},
    {.in = kSection,
     .from = "deepspeed_moe_layer_cls_names",
     .why = "mixtures of experts are not built",
     .only = kNoValue},
    {.in = kSection,
     .from = "enable_msamp",
     .why = "every op's type is planned; write mixed_precision: bf16",
     .only = "false"},
    {.in = kSection, .from = "msamp_opt_level", .why = "acts only with enable_msamp"},
    {.in = kSection,
     .from = "deepspeed_hostfile deepspeed_multinode_launcher deepspeed_inclusion_filter "
             "deepspeed_exclusion_filter",
     .why = kLauncher},
    {.from = "mixed_precision", .why = "write fp16, bf16 or no", .convert = mixed_precision},
    {.from = "gradient_accumulation_steps", .to = "gradient_accumulation_steps"},
    {.from = "num_cpu_threads_per_process", .to = "run.threads"},
    {.from = "num_machines num_processes", .why = "see the launch line"},
    {.from = "compute_environment machine_rank main_process_ip main_process_port same_network "
             "rdzv_backend gpu_ids enable_cpu_affinity mpirun_config.*",
     .why = kLauncher},
    {.from = "use_cpu", .why = "the program is built for one kind of device"},
    {.from = "main_training_function commands.* command_file", .why = "the program trains"},
    {.from = "debug", .why = "every plan is verified before it runs"},
    {.from = "dynamo_backend dynamo_config.*", .why = "every step is compiled before it runs"},
    {.from = "downcast_bf16 tpu_env tpu_use_cluster tpu_use_sudo tpu_name tpu_zone tpu_vm",
     .why = "concerns TPUs"},
    {.from = "ipex_config.*", .why = "the program brings its own kernels"},
    {.from = "fp8_config.*", .why = "write mixed_precision: bf16", .only = kNoValue},
    {.from = "parallelism_config.*",
     .why = "a model is cut by ZeRO alone; remove it",
     .only = kNoValue},
    {.from = "fsdp_config.*", .why = "Accelerate reads it with distributed_type: FSDP"},
    {.from = "megatron_lm_config.*",
     .why = "Accelerate reads it with distributed_type: MEGATRON_LM"},
};

constexpr std::string_view kFsdpSection = "fsdp_config.fsdp_";

constexpr ImportRule kFsdp[] = {
    // By the names and numbers of PyTorch's ShardingStrategy.
    {.in = kFsdpSection,
     .from = "sharding_strategy",
     .to = "zero.stage",
     .why = "write FULL_SHARD, SHARD_GRAD_OP or NO_SHARD: shards are cut over all ranks, not "
            "within groups",
     .values = "FULL_SHARD=3|1=3|SHARD_GRAD_OP=2|2=2|NO_SHARD=0|3=0"},
    // FSDP 2 has a boolean, FSDP 1 a strategy.
    {.in = kFsdpSection,
     .from = "reshard_after_forward",
     .to = "zero.stage",
     .why = "write true or false, or a sharding strategy",
     .values = "true=3|false=2|FULL_SHARD=3|1=3|SHARD_GRAD_OP=2|2=2|NO_SHARD=0|3=0"},
    // What is offloaded is updated where it rests.
    {.in = kFsdpSection,
     .from = "offload_params enable_cpu_offload",
     .to = "zero.offload_optimizer.device",
     .why = "write true or false",
     .values = "true=cpu|false=none"},
    {.in = kFsdpSection,
     .from = "activation_checkpointing",
     .to = "activation_checkpointing.recompute",
     .why = "write true or false",
     .values = "true=full|false=none"},
    {.in = kFsdpSection, .from = "version", .why = "both versions shard alike"},
    {.in = kFsdpSection,
     .from = "auto_wrap_policy transformer_layer_cls_to_wrap min_num_params",
     .why = "a unit of the plan is a block, whatever modules it has"},
    {.in = kFsdpSection,
     .from = "backward_prefetch backward_prefetch_policy forward_prefetch",
     .why = "what is gathered ahead of its use follows zero.stage3_prefetch_bucket_size"},
    {.in = kFsdpSection,
     .from = "limit_all_gathers",
     .why = "zero.stage3_max_live_parameters limits what is gathered"},
    {.in = kFsdpSection,
     .from = "use_orig_params",
     .why = "parameters keep their names and shapes"},
    {.in = kFsdpSection,
     .from = "sync_module_states cpu_ram_efficient_loading",
     .why = "weights are drawn or read shard by shard"},
    {.in = kFsdpSection,
     .from = "state_dict_type",
     .why = "every checkpoint is in shards; export writes whole models"},
    {.in = kFsdpSection, .from = "mixed_precision_policy", .why = "see mixed_precision"},
    {.in = kFsdpSection,
     .from = "ignored_modules",
     .why = "all parameters are sharded alike; remove it",
     .only = kNoValue},
};

/// As it stands there, a word without its quotes.
std::string plain_text(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word ? *word : to_text(value);
}

/// The value of ImportRule::values that follows `value` there.
std::optional<TomlValue> mapped(std::string_view values, const TomlValue& value) {
  const std::string there = plain_text(value);
  while (!values.empty()) {
    const std::string_view pair = values.substr(0, values.find('|'));
    values.remove_prefix(std::min(pair.size() + 1, values.size()));
    const size_t equals = pair.find('=');
    if (pair == "*") return value;
    if (pair.substr(0, equals) != there) continue;
    TomlValue here;
    std::string ignored;
    parse_toml_word(pair.substr(equals + 1), here, ignored);
    return here;
  }
  return std::nullopt;
}

struct Section {
  std::string_view deepspeed, ours;
};
constexpr Section kSections[] = {
    {"zero_optimization", "zero"},
    {"optimizer.params", "optimizer"},
    {"scheduler.params", "scheduler"},
    {"fp16", "fp16"},
    {"bf16", "bf16"},
    {"bfloat16", "bf16"},
    {"activation_checkpointing", "activation_checkpointing"},
    {"aio", "aio"},
};

/// `key` with section `to` in place of one of `from` that it lies in; nothing if it lies in none.
std::optional<std::string> moved(std::string_view key, std::string_view Section::*from,
                                 std::string_view Section::*to) {
  for (const Section& section : kSections) {
    const std::string_view name = section.*from;
    if (lies_in(key, name)) return text(section.*to, key.substr(name.size()));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> words_of(std::string_view names) {
  std::istringstream words{std::string(names)};
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> ImportRule::keys() const {
  std::vector<std::string> keys = words_of(from);
  for (std::string& key : keys) key.insert(0, in);
  return keys;
}

std::string ImportRule::target(std::string_view key) const {
  if (!to.ends_with('*')) return std::string(to);
  return std::string(to.substr(0, to.size() - 1)) + std::string(key.substr(in.size()));
}

std::span<const ImportRule> deepspeed_rules() { return kDeepSpeed; }
std::span<const ImportRule> accelerate_rules() { return kAccelerate; }
std::span<const ImportRule> fsdp_rules() { return kFsdp; }

const ImportRule* find_rule(std::span<const ImportRule> rules, std::string_view key) {
  for (const ImportRule& rule : rules) {
    if (!key.starts_with(rule.in)) continue;
    for (const std::string& name : rule.keys()) {
      const bool section = name.ends_with(".*");
      if (section ? key.starts_with(name.substr(0, name.size() - 1)) : key == name) return &rule;
    }
  }
  return nullptr;
}

std::optional<Target> follow_rule(const ImportRule& rule, std::string_view key,
                                  const TomlValue& value) {
  const std::string to = rule.target(key);
  if (rule.convert) return rule.convert(value, to);
  if (rule.values.empty()) return Target{to, value};
  const std::optional<TomlValue> here = mapped(rule.values, value);
  return here ? std::optional(Target{to, *here}) : std::nullopt;
}

bool lies_in(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

std::string key_here(std::string_view key) {
  return moved(key, &Section::deepspeed, &Section::ours).value_or(std::string(key));
}

std::string same_key(std::string_view key) {
  if (key.find('.') == key.npos) return std::string(key);
  return moved(key, &Section::deepspeed, &Section::ours).value_or("");
}

std::string deepspeed_key(std::string_view key) {
  if (key.find('.') == key.npos) return std::string(key);
  return moved(key, &Section::ours, &Section::deepspeed).value_or("");
}

}  // namespace zero
