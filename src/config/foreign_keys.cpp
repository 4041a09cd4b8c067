#include "src/config/foreign_keys.hpp"

#include "src/config/import/rules.hpp"
#include "zero/base/error.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr Standing kHint = Standing::hint, kRefused = Standing::refused;

constexpr std::string_view kMetrics = "[tensorboard] and [csv_monitor] show a run";
constexpr std::string_view kElsewhere =
    "tools/monitor.py RUN wandb --follow (or trackio, comet, mlflow) sends a run's steps";
constexpr std::string_view kOneBit =
    "it belongs to the optimizers that compress gradients, which are not built; remove it";
constexpr std::string_view kMuon = "it belongs to Muon, which is not built; remove it";
constexpr std::string_view kOneModel =
    "a model is cut by ZeRO alone, not by tensors, sequences, experts or stages of a pipeline; "
    "remove it";
constexpr std::string_view kFullModel =
    "the model is trained as it is: nothing is pruned, quantised or left out; remove it";
constexpr std::string_view kDataOrder =
    "samples come in one order that run.seed draws, each as long as data.sequence_length; remove "
    "it";

constexpr DeepSpeedKeys kKeys[] = {
    {"", "dataloader_drop_last", kHint, "every step has a whole batch"},
    {"", "vocabulary_size", kHint, "model.vocab_size or the tokenizer says it"},
    {"", "log_level", kHint, "messages have one level, and run.log_interval their distance"},
    {"", "graph_harvesting", kHint, "a GPU's steps are recorded as graphs where that is faster"},
    {"", "seq_parallel_comm_data_type seq_parallel_communication_data_type", kHint,
     "sequences are not cut over ranks"},
    {"", "gradient_allreduce_op", kRefused,
     "gradients are averaged over all tokens of a batch; write \"mean\"", false, "\"mean\""},
    {"", "managed_gradient_accumulation", kRefused,
     "gradient_accumulation_steps says how many micro-batches a step has; write true", false,
     "true"},
    {"", "use_data_before_expert_parallelism", kRefused, kOneModel},
    {"", "sequence_parallel_size", kRefused, "sequences are not cut; write 1", false, "1"},
    {"", "data_parallel_size", kRefused, "the launcher says how many ranks run; remove it", false,
     kNoValue},
    {"", "fp32_allreduce", kHint, "sums of gradients are fp32"},
    {"optimizer", "legacy_fusion", kHint, "the update of a unit is always one operation", true},
    {"optimizer.params", "set_grad_none fp32_optimizer_states", kHint,
     "gradients are overwritten by the next step, and states are fp32", true},
    {"optimizer.params",
     "freeze_step cuda_aware comm_backend_name coeff_beta factor_max factor_min factor_threshold "
     "var_freeze_step var_update_scaler local_step_scaler local_step_clipper",
     kRefused, kOneBit, true},
    {"optimizer.params", "foreach fused capturable differentiable", kHint,
     "the update of a unit is always one operation", true},
    {"optimizer.params", "maximize", kRefused, "the loss is minimised; remove it", true},
    {"optimizer.params", "eps_inside_sqrt", kRefused,
     "eps is added behind the square root; remove it", true},
    {"optimizer.params", "muon_lr adam_lr ns_method ns_steps", kRefused, kMuon, true},
    {"scheduler.params", "cycle_min_mom cycle_max_mom decay_mom_rate", kHint,
     "it is read only with cycle_momentum = true, which is not done", true},
    {"scheduler.params", "edge_value mid_value", kRefused,
     "a cycle goes from scheduler.cycle_min_lr to scheduler.cycle_max_lr; remove it", true},
    {"zero_optimization.leaf_module", "classes names name_suffixes", kHint,
     "a unit of the plan is a block, whatever modules it has"},
    {"zero_optimization.zeropp_loco_param", "err_beta reset_T", kRefused,
     "gradients travel unquantised; remove it"},
    {"zero_optimization.zenflow",
     "topk_ratio select_strategy select_interval update_interval overlap_step offload auto_ratio "
     "full_warm_up_rounds pt_reserved_cores_perc steps_per_epoch",
     kRefused, "every gradient is applied in its own step; remove it"},
    {"zero_optimization", "grad_hooks", kHint, "gradients are reduced while backward runs", true},
    {"zero_optimization", "save_muon_momentum_buffer_in_memory", kRefused, kMuon, true},
    {"aio", "thread_count", kHint,
     "DeepSpeed's code does not read it; aio.intra_op_parallelism is what acts", true},
    {"bf16", "check_overflow accumulate_grads_via_hooks", kHint,
     "gradients are always checked, and summed as they come", true},
    {"amp", "enabled opt_level *", kRefused,
     "write bf16.enabled = true or fp16.enabled = true instead"},
    {"torch_autocast", "enabled dtype lower_precision_safe_modules", kRefused,
     "every op's type is planned; write bf16.enabled = true or fp16.enabled = true instead"},
    {"data_types", "grad_accum_dtype", kHint, "micro-batches are accumulated in fp32", true},
    {"data_types", "param_dtype buffer_dtype", kRefused,
     "bf16.enabled or fp16.enabled says the type of weights; remove it", true},
    {"flops_profiler",
     "enabled recompute_fwd_factor profile_step module_depth top_modules detailed output_file",
     kHint, "wall_clock_breakdown and summary.json have its figures"},
    {"comms_logger", "enabled verbose prof_all debug prof_ops", kHint,
     "summary.json has the bytes of each collective"},
    {"comms_config", "*", kHint, "MPI carries the collectives; summary.json has their bytes"},
    {"monitor_config", "enabled tag *", kHint, kMetrics},
    {"wandb", "enabled group team project", kHint, kElsewhere},
    {"trackio", "enabled project", kHint, kElsewhere},
    {"comet",
     "enabled samples_log_interval project workspace api_key experiment_name experiment_key online "
     "mode",
     kHint, kElsewhere},
    {"timers", "throughput", kHint, "tokens per second are in metrics.jsonl and cost nothing"},
    {"compile",
     "deepcompile free_activation free_activation_threshold offload_activation "
     "offload_activation_pin_memory offload_opt_states double_buffer symmetric_memory debug_log "
     "offload_parameters sync_before_reduce sync_after_reduce sync_before_allgather "
     "sync_after_allgather keep_int_input_tensors keep_all_input_tensors passes enabled disable "
     "backend kwargs",
     kHint, "every step is compiled before it runs"},
    {"checkpoint",
     "tag_validation load_universal use_node_local_storage parallel_write checkpoint_serialization "
     "writer",
     kHint, "it says how DeepSpeed lays out its own checkpoints", true},
    {"nebula",
     "enabled enable_nebula_load load_path nebula_load_path persistent_storage_path "
     "persistent_time_interval num_of_version_in_retention",
     kHint, "checkpoint.async = true saves beside the steps"},
    {"datastates_ckpt", "*", kHint, "checkpoint.async = true saves beside the steps"},
    {"autotuning",
     "enabled fast results_dir exps_dir overwrite start_profile_step end_profile_step metric_path "
     "tuner_type tuner_early_stopping tuner_num_trials arg_mappings max_train_batch_size "
     "min_train_batch_size max_train_micro_batch_size_per_gpu min_train_micro_batch_size_per_gpu "
     "num_tuning_micro_batch_sizes mp_size metric model_info_path model_info",
     kHint, "zeroapp plan INPUT --max-batch prints the largest micro-batch that fits"},
    {"elasticity",
     "enabled max_train_batch_size micro_batch_sizes min_gpus max_gpus num_gpus_per_node "
     "model_parallel_size min_time prefer_larger_batch ignore_non_elastic_batch_info version",
     kRefused,
     "write train_batch_size, and \"auto\" for the other batch sizes: they follow the ranks"},
    {"sparse_attention",
     "mode block different_layout_per_head num_local_blocks num_global_blocks attention "
     "horizontal_global_attention num_different_global_patterns num_random_blocks "
     "local_window_blocks global_block_indices global_block_end_indices num_sliding_window_blocks",
     kRefused, "attention is dense and needs no memory for its scores; remove it"},
    {"pipeline",
     "stages partition seed_layers activation_checkpoint_interval pipe_partitioned "
     "grad_partitioned use_reentrant",
     kRefused, kOneModel},
    {"tensor_parallel",
     "autotp_size dtype tp_overlap_comm tensor_parallel tp tp_size tp_grain_size "
     "injection_policy_tuple partition_config preset_model keep_module_on_host "
     "replace_with_kernel_inject kernel_inject",
     kRefused, kOneModel},
    {"expert_parallel",
     "enabled autoep_size expert_tensor_parallel_size preset_model moe_layer_pattern "
     "expert_pattern router_pattern use_grouped_mm top_k *",
     kRefused, kOneModel},
    {"hybrid_engine",
     "enabled max_out_tokens inference_tp_size release_inference_cache pin_parameters "
     "tp_gather_partition_size enable_cuda_graph",
     kRefused, "a run trains; zeroapp generate continues texts; remove it"},
    {"progressive_layer_drop", "enabled theta gamma", kRefused, kFullModel},
    {"eigenvalue",
     "enabled verbose max_iter tol stability gas_boundary_resolution layer_name layer_num",
     kRefused, kFullModel},
    {"quantize_training", "*", kRefused, kFullModel},
    {"weight_quantization", "*", kRefused, kFullModel},
    {"compression_training",
     "weight_quantization activation_quantization sparse_pruning row_pruning head_pruning "
     "channel_pruning layer_reduction *",
     kRefused, kFullModel},
    {"curriculum_learning",
     "enabled curriculum_type min_difficulty max_difficulty schedule_type schedule_config",
     kRefused, kDataOrder},
    {"data_efficiency", "enabled seed data_sampling data_routing *", kRefused, kDataOrder},
};

bool names_one(std::string_view names, std::string_view name) {
  return text(" ", names, " ").find(text(" ", name, " ")) != std::string::npos;
}

bool is_about(const DeepSpeedKeys& keys, std::string_view key) {
  if (keys.section.empty()) return names_one(keys.names, key);
  if (!lies_in(key, keys.section)) return false;
  if (!keys.partly) return true;
  if (key.size() == keys.section.size()) return false;
  const std::string_view below = key.substr(keys.section.size() + 1);
  return names_one(keys.names, below.substr(0, below.find('.')));
}

/// A key of another program, with advice. It is no flag of training_rules() or script_rules().
struct Habit {
  std::string_view key, advice;
};

const Habit kHabits[] = {
    {"batch_size", "write train_batch_size, or train_micro_batch_size_per_gpu for one rank's"},
    {"micro_batch_size", "write train_micro_batch_size_per_gpu"},
    {"block_size", "write data.sequence_length, or aio.block_size for requests to a disk"},
    {"seq_length", "write data.sequence_length"},
    {"max_iters", "write run.steps"},
    {"n_layer", "write model.layers"},
    {"n_head", "write model.heads"},
    {"n_embd", "write model.width"},
    {"model.n_layer", "write model.layers"},
    {"model.n_head", "write model.heads"},
    {"model.n_embd", "write model.width"},
    {"gradient_checkpointing", "write activation_checkpointing.recompute = \"full\""},
    {"mixed_precision", "write bf16.enabled = true or fp16.enabled = true"},
    {"zero_stage", "write zero.stage"},
    {"offload_optimizer_device", "write zero.offload_optimizer.device"},
    {"offload_param_device", "write zero.offload_param.device"},
    {"num_processes", "mpirun or srun says how many ranks run; remove it"},
};

/// Returns our name of a DeepSpeed key that an input file has under another name; "" if none.
std::string name_here(std::string_view key) {
  const ImportRule* rule = find_rule(deepspeed_rules(), key);
  return rule && rule->values.empty() && !rule->convert ? rule->target(key) : "";
}

}  // namespace

std::span<const DeepSpeedKeys> deepspeed_keys() { return kKeys; }

const DeepSpeedKeys* find_deepspeed_key(std::string_view key) {
  for (const DeepSpeedKeys& keys : deepspeed_keys()) {
    if (is_about(keys, key)) return &keys;
  }
  return nullptr;
}

std::string why_of(const DeepSpeedKeys& keys) {
  const std::string_view why = keys.why;
  if (!why.starts_with("tools/")) return std::string(why);
  const size_t end = why.find(' ');
  return text(shared_file(why.substr(0, end)), why.substr(end));
}

std::string_view hint_section(std::string_view key) {
  for (const std::string_view section : {"comms_config", "monitor_config"}) {
    if (lies_in(key, section)) return section;
  }
  return "";
}

std::string habit_advice(std::string_view key) {
  for (const Habit& habit : kHabits) {
    if (lies_in(key, habit.key)) return std::string(habit.advice);
  }
  const std::string word(key.substr(0, key.find('.')));
  const ImportRule* flag = find_rule(training_rules(), "--" + word);
  if (!flag) flag = find_rule(script_rules(), "--" + word);
  const std::string to = flag ? flag->target("--" + word) : "";
  // fp16 is a section of ours, so the advice names its keys.
  return to.empty() || lies_in(to, word) ? "" : "write " + to;
}

std::string deepspeed_advice(std::string_view key) {
  for (const std::string& name : {std::string(key), deepspeed_key(key)}) {
    if (name.empty()) continue;
    const std::string here = name_here(name);
    if (!here.empty()) return text("DeepSpeed's name of another key; write ", here);
    const DeepSpeedKeys* keys = find_deepspeed_key(name);
    if (keys) return text("a key of DeepSpeed without a twin here: ", why_of(*keys));
  }
  return "";
}

}  // namespace zero
