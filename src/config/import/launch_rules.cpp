#include <algorithm>
#include <array>

#include "src/config/import/nested_file.hpp"
#include "src/config/import/rules.hpp"
#include "src/config/optimizer_rows.hpp"

namespace zero {
namespace {

bool begins(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && word->starts_with(wanted);
}

/// Sets nothing for a number at or below zero, Transformers' word for unset.
std::optional<Target> positive(const TomlValue& value, std::string_view to) {
  if (number_of(value).value_or(1) <= 0) return Target{};
  return Target{std::string(to), value};
}

/// Refuses an interval below 1, a share of all steps, because no key takes it.
std::optional<Target> interval(const TomlValue& value, std::string_view to) {
  const double number = number_of(value).value_or(0);
  if (number > 0 && number < 1) return std::nullopt;
  return positive(value, to);
}

/// Takes the updates that resolve_shares() has counted; a share is left open.
std::optional<Target> warmup_share(const TomlValue& value, std::string_view to) {
  if (number_of(value).value_or(0) == 0) return Target{};
  const bool counted = std::holds_alternative<int64_t>(value);
  return Target{std::string(to), counted ? value : TomlValue("auto")};
}

/// Maps optimizers: adamw_torch, adamw_torch_fused, adamw_hf ... are one formula.
std::optional<Target> optimizer(const TomlValue& value, std::string_view to) {
  const bool other = begins(value, "adamw_bnb") || begins(value, "adamw_8bit") ||
                     begins(value, "adamw_torch_4bit") || begins(value, "adamw_torch_8bit") ||
                     begins(value, "adamw_anyprecision");
  if (begins(value, "adamw_") && !other) return Target{std::string(to), "AdamW"};
  for (const OptimizerRow& row : optimizer_rows()) {
    const bool is_named =
        !row.transformers.empty() && value == TomlValue(std::string(row.transformers));
    if (is_named) return Target{std::string(to), row.name};
  }
  return std::nullopt;
}

/// Refuses apex. For other words --fp16 and --bf16 set the type.
std::optional<Target> not_apex(const TomlValue& value, std::string_view) {
  return begins(value, "apex") ? std::nullopt : std::optional(Target{});
}

/// Refuses a flag whose unit differs from its key's.
std::optional<Target> of_another_unit(const TomlValue&, std::string_view) { return std::nullopt; }

constexpr std::string_view kSteps = "write a number of steps";
constexpr std::string_view kStage = "write zero.stage=... as key=value";
constexpr std::string_view kRecords =
    "metrics.jsonl holds every step of a run, and [tensorboard] shows it";
constexpr std::string_view kReadAhead = "samples are read ahead";
constexpr std::string_view kNoHub = "nothing is uploaded; export.at_end = true writes the model";
constexpr std::string_view kEvaluates = "evaluation measures the loss, and texts where asked to";
constexpr std::string_view kOverlaps = "gradients are reduced while backward runs";

constexpr ImportRule kTraining[] = {
    {.from = "--per_device_train_batch_size --per_gpu_train_batch_size",
     .to = "train_micro_batch_size_per_gpu"},
    {.from = "--per_device_eval_batch_size --per_gpu_eval_batch_size",
     .to = "evaluation.micro_batch_size"},
    {.in = "--", .from = "gradient_accumulation_steps", .to = "*"},
    {.from = "--learning_rate", .to = "optimizer.lr"},
    {.in = "--", .from = "weight_decay", .to = "optimizer.*"},
    {.from = "--adam_beta1 --adam_beta2", .to = "optimizer.betas"},
    {.from = "--adam_epsilon", .to = "optimizer.eps"},
    {.from = "--optim", .to = "optimizer.type", .why = "write adamw_torch", .convert = optimizer},
    {.from = "--max_grad_norm", .to = "gradient_clipping"},
    {.from = "--num_train_epochs", .to = "run.epochs", .convert = positive},
    {.from = "--max_steps", .to = "run.steps", .convert = positive},
    {.from = "--warmup_steps", .to = "scheduler.warmup_num_steps"},
    {.from = "--warmup_ratio", .to = "scheduler.warmup_num_steps", .convert = warmup_share},
    {.from = "--lr_scheduler_type",
     .to = "scheduler.type",
     .why = "write linear, cosine, constant or constant_with_warmup",
     .values = "linear=WarmupDecayLR|cosine=WarmupCosineLR|constant=constant|"
               "constant_with_warmup=WarmupLR"},
    {.in = "--", .from = "seed", .to = "run.*"},
    {.from = "--logging_steps", .to = "run.log_interval", .why = kSteps, .convert = interval},
    {.from = "--eval_steps", .to = "evaluation.interval", .why = kSteps, .convert = interval},
    {.from = "--save_steps", .to = "checkpoint.interval", .why = kSteps, .convert = interval},
    {.from = "--save_total_limit", .to = "checkpoint.keep"},
    {.from = "--save_only_model", .to = "checkpoint.weights_only"},
    {.from = "--load_best_model_at_end", .to = "checkpoint.load_best_at_end"},
    {.from = "--metric_for_best_model",
     .to = "checkpoint.best_metric",
     .why = "write loss, bleu, exact_match, accuracy, f1, matthews_correlation, pearson or "
            "spearmanr",
     .values = "loss=eval_loss|eval_loss=eval_loss|bleu=bleu|eval_bleu=bleu|"
               "exact_match=exact_match|eval_exact_match=exact_match|accuracy=accuracy|"
               "eval_accuracy=accuracy|f1=f1|eval_f1=f1|matthews_correlation=matthews|"
               "eval_matthews_correlation=matthews|pearson=pearson|eval_pearson=pearson|"
               "spearmanr=spearman|eval_spearmanr=spearman"},
    {.from = "--fp16", .to = "fp16.enabled"},
    {.from = "--bf16", .to = "bf16.enabled"},
    {.from = "--gradient_checkpointing --activation_checkpointing",
     .to = "activation_checkpointing.recompute",
     .why = "write true or false",
     .values = "true=full|false=none"},
    // FairScale's words in older releases.
    {.from = "--sharded_ddp",
     .to = "zero.stage",
     .why = kStage,
     .values = "simple=2|zero_dp_2=2|zero_dp_3=3"},
    {.from = "--fsdp",
     .to = "zero.stage",
     .why = kStage,
     .values = "full_shard=3|shard_grad_op=2|no_shard=0"},
    {.from = "--fsdp:optimizer", .to = "zero.offload_optimizer.device", .values = "true=cpu"},
    {.from = "--fsdp:parameters", .to = "zero.offload_param.device", .values = "true=cpu"},
    {.from = "--label_smoothing_factor", .to = "model.label_smoothing"},
    {.from = "--output_dir", .to = "run.output"},
    {.from = "--logging_dir", .to = "tensorboard.output_path"},
    {.from = "--predict_with_generate", .to = "evaluation.generate"},
    {.from = "--generation_max_length", .to = "generation.max_length"},
    {.from = "--generation_num_beams", .to = "generation.num_beams"},
    {.from = "--deepspeed", .why = "is the file that is imported, or read beside it"},
    {.from = "--resume_from_checkpoint",
     .why = "a second start in the same folder goes on by itself"},
    // Flags that would change the training; refused.
    {.from = "--group_by_length", .why = "samples are of one length; write false", .only = "false"},
    {.from = "--sortish_sampler",
     .why = "samples come in a drawn order; write false",
     .only = "false"},
    {.from = "--train_sampling_strategy",
     .why = "samples come in a drawn order; write random",
     .only = "\"random\""},
    {.from = "--adafactor", .why = "write --optim adamw_torch", .only = "false"},
    {.from = "--optim_args", .why = "optimizer.* has every setting; remove it", .only = kNoValue},
    {.from = "--optim_target_modules",
     .why = "every parameter has the same optimizer; remove it",
     .only = kNoValue},
    {.from = "--lr_scheduler_kwargs",
     .why = "scheduler.* has every setting; remove it",
     .only = kNoValue},
    {.from = "--neftune_noise_alpha", .why = "no noise is added; remove it", .only = kNoValue},
    {.from = "--fsdp_config",
     .why = "import its settings as fsdp_config of an Accelerate file",
     .only = kNoValue},
    {.from = "--accelerator_config",
     .why = "batches are cut and counted by train_batch_size; remove it",
     .only = kNoValue},
    {.from = "--parallelism_config",
     .why = "a model is cut by ZeRO alone; remove it",
     .only = kNoValue},
    {.from = "--half_precision_backend --fp16_backend",
     .why = "apex is not built in; write auto",
     .convert = not_apex},
    {.from = "--average_tokens_across_devices",
     .why = "gradients are averaged over all tokens of a batch; write true",
     .only = "true"},
    {.from = "--no_average_tokens_across_devices",
     .why = "gradients are averaged over all tokens of a batch; remove it",
     .only = kNoValue},
    {.from = "--ignore_data_skip",
     .why = "a resumed run goes on with the sample that comes next; write false",
     .only = "false"},
    {.from = "--past_index", .why = "no state is carried over; write -1", .only = "-1"},
    // Flags that need no setting.
    {.from = "--do_train --do_eval --do_predict",
     .why = "the program trains, and evaluates where validation is given"},
    {.from = "--eval_strategy --evaluation_strategy --eval_delay --eval_on_start",
     .why = "evaluation.interval says how often"},
    {.from = "--prediction_loss_only --eval_accumulation_steps --include_inputs_for_metrics "
             "--include_for_metrics --eval_do_concat_batches --no_eval_do_concat_batches "
             "--batch_eval_metrics --eval_use_gather_object --use_legacy_prediction_loop "
             "--jit_mode_eval",
     .why = kEvaluates},
    {.from = "--bf16_full_eval --fp16_full_eval", .why = "evaluation computes as training does"},
    {.from = "--fp16_opt_level", .why = "acts only with apex"},
    {.from = "--greater_is_better", .why = "follows from checkpoint.best_metric"},
    {.from = "--generation_config",
     .why = "generation_config.json of model.init_from acts; generation.* says the rest"},
    {.from = "--save_strategy", .why = "checkpoint.interval says how often"},
    {.from = "--save_safetensors --no_save_safetensors --save_on_each_node "
             "--restore_callback_states_from_checkpoint --enable_jit_checkpoint",
     .why = "every rank saves its share, after SIGTERM too; export writes safetensors"},
    {.from = "--logging_strategy --logging_first_step --report_to --run_name "
             "--project --trackio_space_id --trackio_bucket_id --trackio_static_space_id "
             "--include_tokens_per_second --include_num_input_tokens_seen --skip_memory_metrics "
             "--no_skip_memory_metrics",
     .why = kRecords},
    {.from = "--log_level --log_level_replica --log_on_each_node --no_log_on_each_node "
             "--disable_tqdm --debug --logging_nan_inf_filter --no_logging_nan_inf_filter",
     .why = "messages have one level, and run.log_interval their distance"},
    {.from = "--overwrite_output_dir", .why = "an earlier run's files move to old-<n>/"},
    {.from = "--dataloader_num_workers --dataloader_prefetch_factor --dataloader_pin_memory "
             "--no_dataloader_pin_memory --dataloader_persistent_workers --dataloader_in_order "
             "--no_dataloader_in_order --dataloader_multiprocessing_context",
     .why = kReadAhead},
    {.from = "--dataloader_drop_last", .why = "every step has a whole batch"},
    {.from = "--data_seed", .why = "run.seed draws the order of samples too"},
    {.from = "--full_determinism",
     .why = "the same ranks repeat a run's bits; numerics.reproducible = true: any ranks"},
    {.from = "--ddp_timeout", .why = "run.watchdog says it"},
    {.from = "--ddp_find_unused_parameters --ddp_static_graph",
     .why = "the plan knows every parameter's use"},
    {.from = "--ddp_bucket_cap_mb --ddp_broadcast_buffers", .why = kOverlaps},
    {.from = "--ddp_backend --xpu_backend", .why = "MPI and the build say it"},
    {.from = "--torch_compile --torch_compile_backend --torch_compile_mode --torchdynamo",
     .why = "every step is compiled before it runs"},
    {.from = "--use_liger_kernel --liger_kernel_config --use_ipex",
     .why = "the program brings its own kernels"},
    {.from = "--no_cuda --use_cpu --use_mps_device",
     .why = "the program is built for one kind of device"},
    {.from = "--tpu_num_cores --tpu_metrics_debug", .why = "concerns TPUs"},
    {.from = "--mp_parameters", .why = "concerns SageMaker"},
    {.from = "--ray_scope", .why = "concerns searches by Ray"},
    {.from = "--tf32", .why = "fp32 is fp32; bf16.enabled = true is the fast way"},
    {.from = "--torch_empty_cache_steps", .why = "memory is planned"},
    {.from = "--auto_find_batch_size", .why = "zeroapp plan INPUT --max-batch finds it"},
    {.from = "--gradient_checkpointing_kwargs --activation_checkpointing_kwargs",
     .why = "recompute is planned"},
    {.from = "--use_cache", .why = "acts where texts are written, which always keeps keys"},
    {.from = "--remove_unused_columns --no_remove_unused_columns --label_names",
     .why = "data.source_field and data.target_field name what is read"},
    {.from = "--length_column_name", .why = "acts only with group_by_length"},
    {.from = "--fsdp_min_num_params --fsdp_transformer_layer_cls_to_wrap",
     .why = "a unit of the plan is a block, whatever modules it has"},
    {.from = "--push_to_hub --hub_model_id --hub_strategy --hub_token --hub_private_repo "
             "--hub_always_push --hub_revision --push_to_hub_model_id "
             "--push_to_hub_organization --push_to_hub_token",
     .why = kNoHub},
    {.from = "--local_rank", .why = "the MPI launcher places and connects the ranks"},
};

constexpr ImportRule kScripts[] = {
    {.from = "--label_smoothing", .to = "model.label_smoothing"},
    {.from = "--max_source_length", .to = "data.source_length"},
    {.from = "--max_target_length", .to = "data.target_length"},
    {.in = "--", .from = "source_prefix", .to = "data.*"},
    {.from = "--train_file", .to = "data.train"},
    {.from = "--validation_file", .to = "data.validation"},
    {.in = "--", .from = "max_train_samples", .to = "data.*"},
    {.from = "--max_eval_samples --max_val_samples", .to = "data.max_validation_samples"},
    {.from = "--block_size --max_seq_length", .to = "data.sequence_length"},
    {.from = "--mixed_precision", .why = "write fp16, bf16 or no", .convert = mixed_precision},
    {.from = "--config_name",
     .to = "model.name",
     .why = "write model.name=... or its numbers",
     .names_size = true},
    {.from = "--model_name_or_path",
     .why = "its weights: model.init_from=FOLDER; a new model: model.name=NAME"},
    {.from = "--model_type", .why = "model.name or its numbers say it"},
    {.from = "--tokenizer_name",
     .why = "data.tokenizer=FOLDER names its tokenizer.json, or its vocab.json and merges.txt"},
    {.from = "--deepspeed_config --deepscale_config --config_file",
     .why = "is the file that is imported, or read beside it"},
    {.from = "--deepscale", .why = "the program trains by ZeRO"},
    {.from = "--freeze_embeds",
     .why = "write model.freeze=[...] with the names of the tables, as key=value",
     .only = "false"},
    {.from = "--dropout", .why = "write model.dropout=... as key=value", .only = kNoValue},
};

constexpr ImportRule kOwn[] = {
    {.from = "--lr --base_lr --peak_lr --max_lr --init_lr --initial_lr",
     .to = "optimizer.lr",
     .asks = true},
    {.from = "--wd --decay --l2", .to = "optimizer.weight_decay", .asks = true},
    {.from = "--eps --epsilon", .to = "optimizer.eps", .asks = true},
    {.from = "--betas --beta1 --beta2 --adam_betas", .to = "optimizer.betas", .asks = true},
    {.from = "--optimizer --opt", .to = "optimizer.type", .asks = true},
    {.from = "--scheduler --lr_scheduler --lr_schedule --lr_decay_style --schedule",
     .to = "scheduler.type",
     .asks = true},
    {.from = "--warmup --num_warmup_steps --warmup_iters --lr_warmup_steps --lr_warmup_iters",
     .to = "scheduler.warmup_num_steps",
     .asks = true},
    {.from = "--warmup_proportion --warmup_epochs",
     .to = "scheduler.warmup_num_steps",
     .convert = of_another_unit,
     .asks = true},
    {.from = "--clip --grad_clip --clip_grad --clip_grad_norm --gradient_clip "
             "--gradient_clip_val --gradient_clipping --max_norm",
     .to = "gradient_clipping",
     .asks = true},
    {.from = "--train_batch_size --global_batch_size", .to = "train_batch_size", .asks = true},
    {.from = "--batch_size --micro_batch_size --bs --per_gpu_batch_size --per_device_batch_size "
             "--batch_size_per_gpu --batch_size_per_device",
     .to = "train_micro_batch_size_per_gpu",
     .asks = true},
    {.from = "--accumulation_steps --gradient_accumulation --grad_accum --grad_accum_steps "
             "--grad_accumulation_steps --accumulate_grad_batches --accum_iter",
     .to = "gradient_accumulation_steps",
     .asks = true},
    {.from = "--epochs --epoch --num_epochs --n_epochs --max_epochs --train_epochs",
     .to = "run.epochs",
     .asks = true},
    {.from = "--steps --num_steps --train_steps --total_steps --max_train_steps "
             "--num_train_steps --num_training_steps --max_iters --train_iters --iterations "
             "--max_updates",
     .to = "run.steps",
     .asks = true},
    {.from = "--precision --dtype --torch_dtype --use_bf16",
     .to = "bf16.enabled",
     .values = "bf16=true|bfloat16=true|true=true|false=false",
     .asks = true},
    {.from = "--half --amp --use_amp --use_fp16", .to = "fp16.enabled", .asks = true},
    {.from = "--zero_stage --stage", .to = "zero.stage", .asks = true},
    {.from = "--offload --cpu_offload --offload_optimizer",
     .to = "zero.offload_optimizer.device",
     .asks = true},
    {.from = "--model_max_length --max_length --max_len --max_seq_len --seq_length --seq_len "
             "--cutoff_len --context_length",
     .to = "data.sequence_length",
     .asks = true},
};

constexpr ImportRule kLaunchers[] = {
    {.from = "--num_gpus --num_accelerators --num_nodes --nproc_per_node --nnodes --include "
             "--exclude --hostfile",
     .why = "the line that begins with launch says how many ranks"},
    {.from = "--master_addr --master_port --launcher "
             "--launcher_args --node_rank --no_ssh --no_ssh_check --ssh_port --force_multi "
             "--no_local_rank --bind_cores_to_rank --bind_core_list --venv_script --local_addr "
             "--rdzv_backend --rdzv_endpoint --rdzv_id --rdzv_conf --standalone --start_method "
             "--role --numa_binding --virtual_local_rank --use_env --use_xpu --ipex",
     .why = "the MPI launcher places and connects the ranks"},
    {.from = "--max_restarts --monitor_interval --signals_to_handle --shutdown_timeout",
     .why = "a second start in the same folder goes on by itself"},
    {.from = "--module --no_python --run_path", .why = "the program trains"},
    {.from = "--quiet --save_pid --enable_each_rank_log --log_dir --redirects --tee "
             "--event_log_handler --log_line_prefix_template --local_ranks_filter "
             "--duplicate_stdout_filters --duplicate_stderr_filters --logs_specs "
             "--print_completion",
     .why = "rank 0 writes what there is to read"},
    {.from = "--autotuning",
     .why = "zeroapp plan INPUT --max-batch prints the largest micro-batch"},
    {.from = "--aws_access_key_id --aws_secret_access_key", .why = "concerns SageMaker"},
};

constexpr std::string_view kSwitches =
    "--quiet --cpu --multi_gpu --tpu --enable_cpu_affinity --dynamo_use_fullgraph "
    "--dynamo_use_dynamic --dynamo_use_regional_compilation --use_deepspeed --use_fsdp "
    "--use_parallelism_config --use_megatron_lm --same_network --module --no_python --tpu_cluster "
    "--no_tpu_cluster --tpu_use_sudo --downcast_bf16 --fp8_use_autocast_during_eval --debug "
    "--ipex --use_xpu --no_local_rank --no_ssh --no_ssh_check --force_multi --save_pid "
    "--bind_cores_to_rank --deepspeed --deepscale --standalone --run_path --use_env "
    "--virtual_local_rank";

constexpr std::string_view kBooleans =
    "--activation_checkpointing --adafactor --auto_find_batch_size "
    "--average_tokens_across_devices --batch_eval_metrics --bf16 --bf16_full_eval "
    "--dataloader_drop_last --dataloader_in_order --dataloader_persistent_workers "
    "--dataloader_pin_memory --ddp_broadcast_buffers --ddp_find_unused_parameters "
    "--ddp_static_graph --disable_tqdm --do_eval --do_predict --do_train --enable_jit_checkpoint "
    "--eval_do_concat_batches --eval_on_start --eval_use_gather_object --fp16 --fp16_full_eval "
    "--full_determinism --gradient_checkpointing --greater_is_better --group_by_length "
    "--hub_always_push --hub_private_repo --ignore_data_skip --include_inputs_for_metrics "
    "--include_tokens_per_second --jit_mode_eval --load_best_model_at_end --log_on_each_node "
    "--logging_first_step --logging_nan_inf_filter --no_cuda --overwrite_output_dir "
    "--predict_with_generate --prediction_loss_only --push_to_hub --remove_unused_columns "
    "--restore_callback_states_from_checkpoint --save_on_each_node --save_only_model "
    "--save_safetensors --skip_memory_metrics --sortish_sampler --tf32 --torch_compile "
    "--tpu_metrics_debug --use_cache --use_cpu --use_ipex --use_legacy_prediction_loop "
    "--use_liger_kernel --use_mps_device";

}  // namespace

std::span<const ImportRule> training_rules() { return kTraining; }
std::span<const ImportRule> script_rules() { return kScripts; }
std::span<const ImportRule> own_rules() { return kOwn; }
std::span<const ImportRule> launcher_rules() { return kLaunchers; }

const ImportRule* find_flag(std::string_view flag) {
  for (const auto rules : {training_rules(), script_rules(), own_rules(), launcher_rules()}) {
    if (const ImportRule* rule = find_rule(rules, flag)) return rule;
  }
  return nullptr;
}

bool is_switch(std::string_view flag) { return has_word(kSwitches, flag); }
bool takes_boolean(std::string_view flag) { return has_word(kBooleans, flag); }

}  // namespace zero
