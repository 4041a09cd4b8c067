#include "src/config/import/rules.hpp"

namespace zero {
namespace {

bool is_word(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == wanted;
}

/// Maps a type without ZeRO to stage 0, because every rank holds all states.
std::optional<Target> distributed_type(const TomlValue& value, std::string_view) {
  if (is_word(value, "DEEPSPEED") || is_word(value, "FSDP")) return Target{};
  const bool alone = is_word(value, "NO") || value == TomlValue(false);
  const auto* word = std::get_if<std::string>(&value);
  if (alone || is_word(value, "DATA_PARALLEL") || (word && word->starts_with("MULTI_"))) {
    return Target{"zero.stage", int64_t(0)};
  }
  return std::nullopt;
}

/// Maps the boolean fp16 of Accelerate's first releases, which had no other type.
std::optional<Target> old_fp16(const TomlValue& value, std::string_view to) {
  const auto* on = std::get_if<bool>(&value);
  if (!on) return std::nullopt;
  return *on ? Target{std::string(to), true} : Target{};
}

/// Maps FSDP's strategy, by name or number, to a stage, or to groups at FSDP's default stage.
std::optional<Target> sharding_strategy(const TomlValue& value, std::string_view to) {
  const std::string word = in_lower_case(plain_text(value));
  if (word == "hybrid_shard" || word == "4") return Target{"zero.shard_group", "node"};
  constexpr std::pair<std::string_view, int64_t> kStages[] = {
      {"full_shard", 3}, {"1", 3}, {"shard_grad_op", 2}, {"2", 2}, {"no_shard", 0}, {"3", 0}};
  for (const auto& [name, stage] : kStages) {
    if (word == name) return Target{std::string(to), stage};
  }
  return std::nullopt;
}

constexpr std::string_view kPlaces = "the MPI launcher places and connects the ranks";
constexpr std::string_view kSection = "deepspeed_config.";

constexpr ImportRule kAccelerate[] = {
    {.from = "distributed_type",
     .why = "write DEEPSPEED, FSDP, MULTI_GPU or NO",
     .convert = distributed_type},
    {.in = kSection, .from = "deepspeed_config_file", .why = "the file that it names is read"},
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
     .from = "seq_parallel_communication_data_type",
     .why = "sequences are not cut over ranks"},
    {.in = kSection,
     .from = "enable_msamp",
     .why = "every op's type is planned; write mixed_precision: bf16",
     .only = "false"},
    {.in = kSection, .from = "msamp_opt_level", .why = "acts only with enable_msamp"},
    {.in = kSection,
     .from = "deepspeed_hostfile deepspeed_multinode_launcher deepspeed_inclusion_filter "
             "deepspeed_exclusion_filter",
     .why = kPlaces},
    {.from = "mixed_precision", .why = "write fp16, bf16 or no", .convert = mixed_precision},
    {.from = "fp16", .to = "fp16.enabled", .why = "write true or false", .convert = old_fp16},
    {.from = "gradient_accumulation_steps", .to = "gradient_accumulation_steps"},
    {.from = "num_cpu_threads_per_process", .to = "run.threads"},
    {.from = "num_machines num_processes", .why = "see the line that begins with launch"},
    {.from = "compute_environment machine_rank main_process_ip main_process_port same_network "
             "rdzv_backend gpu_ids enable_cpu_affinity mpirun_config.*",
     .why = kPlaces},
    {.from = "use_cpu", .why = "the program is built for one kind of device"},
    {.from = "main_training_function commands commands.* command_file",
     .why = "the program trains"},
    {.from = "ec2_instance_type iam_role_name image_uri profile region base_job_name "
             "pytorch_version transformers_version py_version sagemaker_inputs_file "
             "sagemaker_metrics_file additional_args.*",
     .why = "concerns SageMaker"},
    {.from = "debug", .why = "every plan is verified before it runs"},
    {.from = "dynamo_backend dynamo_config.*", .why = "every step is compiled before it runs"},
    {.from = "downcast_bf16 tpu_env tpu_use_cluster tpu_use_sudo tpu_name tpu_zone tpu_vm",
     .why = "concerns TPUs"},
    {.from = "ipex_config.*", .why = "the program brings its own kernels"},
    {.from = "fp8_config.*", .why = "write mixed_precision: bf16", .only = kNoValue},
    {.in = "parallelism_config.parallelism_config_",
     .from = "tp_size cp_size sp_size dp_replicate_size dp_shard_size",
     .why = "a model is cut by ZeRO alone; remove it",
     .only = "1"},
    {.from = "parallelism_config.*", .why = "acts only beside a size above 1"},
    {.from = "fsdp_config.*", .why = "Accelerate reads it with distributed_type: FSDP"},
    {.from = "megatron_lm_config.*",
     .why = "Accelerate reads it with distributed_type: MEGATRON_LM"},
};

constexpr std::string_view kFsdpSection = "fsdp_config.fsdp_";

constexpr ImportRule kFsdp[] = {
    // Names and numbers of PyTorch's ShardingStrategy.
    {.in = kFsdpSection,
     .from = "sharding_strategy",
     .to = "zero.stage",
     .why = "write FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD or NO_SHARD: groups shard gradients "
            "with their weights",
     .convert = sharding_strategy},
    // FSDP 2 has a boolean, FSDP 1 a strategy.
    {.in = kFsdpSection,
     .from = "reshard_after_forward",
     .to = "zero.stage",
     .why = "write true or false, or a sharding strategy",
     .values = "true=3|false=2|FULL_SHARD=3|1=3|SHARD_GRAD_OP=2|2=2|NO_SHARD=0|3=0"},
    // Offloaded states are updated on the host.
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
    {.in = kFsdpSection,
     .from = "activation_checkpointing_offload",
     .to = "activation_checkpointing.offload",
     .why = "write true or false",
     .values = "true=cpu|false=none"},
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
    {.in = kFsdpSection,
     .from = "mixed_precision_policy mixed_precision_policy.*",
     .why = "see mixed_precision"},
    {.in = kFsdpSection,
     .from = "ignored_modules",
     .why = "all parameters are sharded alike; remove it",
     .only = kNoValue},
};

constexpr AccelerateFlags kFlags[] = {
    {"distributed_type", "use_deepspeed use_fsdp use_megatron_lm multi_gpu tpu"},
    {"use_cpu", "cpu"},
    {"tpu_use_cluster", "tpu_cluster no_tpu_cluster"},
    {"tpu_vm", "vm"},
    {"tpu_env", "env"},
    {"mpirun_config.", "mpirun_hostfile mpirun_ccl"},
    {"",
     "mixed_precision num_processes num_machines machine_rank main_process_ip main_process_port "
     "num_cpu_threads_per_process enable_cpu_affinity gpu_ids same_network rdzv_backend "
     "main_training_function downcast_bf16 tpu_use_sudo debug"},
    {"deepspeed_config.",
     "deepspeed_config_file zero_stage offload_optimizer_device offload_param_device "
     "offload_optimizer_nvme_path offload_param_nvme_path gradient_accumulation_steps "
     "gradient_clipping zero3_init_flag zero3_save_16bit_model deepspeed_hostfile "
     "deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_multinode_launcher "
     "deepspeed_moe_layer_cls_names"},
    {"dynamo_config.",
     "dynamo_backend dynamo_mode dynamo_use_dynamic dynamo_use_fullgraph "
     "dynamo_use_regional_compilation"},
    {"fsdp_config.",
     "fsdp_version fsdp_offload_params fsdp_min_num_params fsdp_sharding_strategy "
     "fsdp_reshard_after_forward fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap "
     "fsdp_backward_prefetch fsdp_backward_prefetch_policy fsdp_state_dict_type "
     "fsdp_forward_prefetch fsdp_use_orig_params fsdp_cpu_ram_efficient_loading "
     "fsdp_sync_module_states fsdp_activation_checkpointing fsdp_activation_checkpointing_offload"},
    {"fp8_config.",
     "fp8_backend fp8_use_autocast_during_eval fp8_margin fp8_interval fp8_format "
     "fp8_amax_history_len fp8_amax_compute_algo fp8_override_linear_precision fp8_opt_level "
     "fp8_enable_fsdp_float8_all_gather fp8_pad_inner_dim"},
    {"parallelism_config.",
     "use_parallelism_config parallelism_config_cp_backend parallelism_config_cp_comm_strategy "
     "parallelism_config_cp_size parallelism_config_dp_replicate_size "
     "parallelism_config_dp_shard_size parallelism_config_sp_attn_implementation "
     "parallelism_config_sp_backend parallelism_config_sp_seq_length parallelism_config_sp_size "
     "parallelism_config_sp_seq_length_is_variable parallelism_config_tp_size"},
    {"megatron_lm_config.",
     "megatron_lm_attention_backend megatron_lm_attention_dropout "
     "megatron_lm_attention_softmax_in_fp32 megatron_lm_calculate_per_token_loss "
     "megatron_lm_context_parallel_size megatron_lm_decoder_last_pipeline_num_layers "
     "megatron_lm_eod_mask_loss megatron_lm_expert_model_parallel_size "
     "megatron_lm_expert_tensor_parallel_size megatron_lm_gradient_clipping "
     "megatron_lm_hidden_dropout megatron_lm_no_load_optim megatron_lm_no_save_optim "
     "megatron_lm_num_micro_batches megatron_lm_optimizer_cpu_offload "
     "megatron_lm_overlap_cpu_optimizer_d2h_h2d megatron_lm_pp_degree "
     "megatron_lm_recompute_activations megatron_lm_recompute_granularity "
     "megatron_lm_recompute_method megatron_lm_recompute_num_layers "
     "megatron_lm_sequence_parallelism megatron_lm_tp_degree megatron_lm_use_custom_fsdp "
     "megatron_lm_use_distributed_optimizer megatron_lm_use_precision_aware_optimizer "
     "megatron_lm_use_rotary_position_embeddings"},
};

}  // namespace

/// Accepts false and capitals too: PyYAML reads an unquoted no as false, and Accelerate ignores
/// case.
std::optional<Target> mixed_precision(const TomlValue& value, std::string_view) {
  const std::string word = in_lower_case(plain_text(value));
  if (word == "fp16" || word == "bf16") return Target{word + ".enabled", true};
  if (word == "no" || word == "false") return Target{"bf16.enabled", false};
  return std::nullopt;
}

std::span<const ImportRule> accelerate_rules() { return kAccelerate; }
std::span<const ImportRule> fsdp_rules() { return kFsdp; }
std::span<const AccelerateFlags> accelerate_flags() { return kFlags; }

std::string accelerate_key(std::string_view flag) {
  if (!flag.starts_with("--")) return "";
  const std::string_view name = flag.substr(2);
  for (const AccelerateFlags& flags : kFlags) {
    std::string_view names = flags.names;
    for (auto known = next_word(names); !known.empty(); known = next_word(names)) {
      if (known != name) continue;
      const bool section = flags.key.empty() || flags.key.ends_with('.');
      return std::string(flags.key).append(section ? known : "");
    }
  }
  return "";
}

}  // namespace zero
