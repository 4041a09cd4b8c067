#include "src/config/import/rules.hpp"

namespace zero {
namespace {

bool is_one_of(const TomlValue& value, std::string_view name, int64_t number) {
  return value == TomlValue(std::string(name)) || value == TomlValue(number) ||
         value == TomlValue(std::to_string(number));
}

/// By the names and numbers of PyTorch's ShardingStrategy.
std::optional<Target> strategy(const TomlValue& value) {
  if (is_one_of(value, "FULL_SHARD", 1)) return Target{"zero.stage", int64_t(3)};
  if (is_one_of(value, "SHARD_GRAD_OP", 2)) return Target{"zero.stage", int64_t(2)};
  if (is_one_of(value, "NO_SHARD", 3)) return Target{"zero.stage", int64_t(0)};
  return std::nullopt;
}

/// FSDP 2 has a boolean, FSDP 1 a strategy.
std::optional<Target> reshard(const TomlValue& value) {
  if (const auto* frees = std::get_if<bool>(&value)) {
    return Target{"zero.stage", int64_t(*frees ? 3 : 2)};
  }
  return strategy(value);
}

/// What is offloaded is updated where it rests.
std::optional<Target> offload(const TomlValue& value) {
  const auto* on = std::get_if<bool>(&value);
  if (!on) return std::nullopt;
  return Target{"zero.offload_optimizer.device", *on ? "cpu" : "none"};
}

std::optional<Target> recompute(const TomlValue& value) {
  const auto* on = std::get_if<bool>(&value);
  if (!on) return std::nullopt;
  return Target{"activation_checkpointing.recompute", *on ? "full" : "none"};
}

constexpr std::string_view kUnits = "a unit of the plan is a block, whatever modules it has";
constexpr std::string_view kAhead =
    "what is gathered ahead of its use follows zero.stage3_prefetch_bucket_size";
constexpr std::string_view kBorn = "weights are drawn or read shard by shard";

constexpr ImportRule kFsdp[] = {
    {.from = "fsdp_config.fsdp_sharding_strategy",
     .why = "write FULL_SHARD, SHARD_GRAD_OP or NO_SHARD: shards are cut over all ranks, not "
            "within groups",
     .convert = strategy},
    {.from = "fsdp_config.fsdp_reshard_after_forward",
     .why = "write true or false, or a sharding strategy",
     .convert = reshard},
    {.from = "fsdp_config.fsdp_offload_params", .why = "write true or false", .convert = offload},
    {.from = "fsdp_config.fsdp_activation_checkpointing",
     .why = "write true or false",
     .convert = recompute},
    {.from = "fsdp_config.fsdp_version", .why = "both versions shard alike"},
    {.from = "fsdp_config.fsdp_auto_wrap_policy", .why = kUnits},
    {.from = "fsdp_config.fsdp_transformer_layer_cls_to_wrap", .why = kUnits},
    {.from = "fsdp_config.fsdp_min_num_params", .why = kUnits},
    {.from = "fsdp_config.fsdp_backward_prefetch", .why = kAhead},
    {.from = "fsdp_config.fsdp_backward_prefetch_policy", .why = kAhead},
    {.from = "fsdp_config.fsdp_forward_prefetch", .why = kAhead},
    {.from = "fsdp_config.fsdp_limit_all_gathers",
     .why = "zero.stage3_max_live_parameters limits what is gathered"},
    {.from = "fsdp_config.fsdp_use_orig_params", .why = "parameters keep their names and shapes"},
    {.from = "fsdp_config.fsdp_sync_module_states", .why = kBorn},
    {.from = "fsdp_config.fsdp_cpu_ram_efficient_loading", .why = kBorn},
    {.from = "fsdp_config.fsdp_state_dict_type",
     .why = "every checkpoint is in shards; export writes whole models"},
    {.from = "fsdp_config.fsdp_mixed_precision_policy", .why = "see mixed_precision"},
    {.from = "fsdp_config.fsdp_ignored_modules",
     .why = "all parameters are sharded alike; remove it",
     .only = kNoValue},
    {.from = "fsdp_config.fsdp_enable_cpu_offload",
     .why = "write true or false",
     .convert = offload},
};

}  // namespace

std::span<const ImportRule> fsdp_rules() { return kFsdp; }

}  // namespace zero
