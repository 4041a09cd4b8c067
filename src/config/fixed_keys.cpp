#include "src/config/fixed_keys.hpp"

namespace zero {
namespace {

constexpr Standing kAlways = Standing::always, kLater = Standing::later,
                   kRefused = Standing::refused;

const FixedKey kTopKeys[] = {
    {"prescale_gradients",
     {false},
     kRefused,
     "sums of gradients are fp32 and cannot overflow where a division first would help; write "
     "false"},
    {"gradient_predivide_factor",
     {1.0},
     kRefused,
     "sums of gradients are fp32 and cannot overflow where a division first would help; write 1.0"},
    {"sparse_gradients",
     {false},
     kRefused,
     "the embedding's gradient shares its buffer with the head's and is dense; write false"},
    {"memory_breakdown",
     {false},
     kRefused,
     "memory is planned: zeroapp plan INPUT prints every byte of it; write false"},
    {"dump_state",
     {false},
     kRefused,
     "effective.toml in the run's folder holds every setting; write false"},
    {"zero_allow_untested_optimizer",
     {false, true},
     kAlways,
     "every optimizer is tested with every stage; write true or false"},
    {"zero_force_ds_cpu_optimizer",
     {true, false},
     kAlways,
     "the program brings its own optimizer on every device; write true or false"},
    {"zero3_init_flag",
     {true, false},
     kAlways,
     "at stage 3 weights are born in shards; write true or false"},
    {"disable_allgather",
     {false},
     kRefused,
     "updated weights are always all-gathered, never broadcast; write false"},
};

const FixedKey kOwnKeys[] = {
    {"model.init_from",
     {""},
     kLater,
     "a run cannot begin from another's weights yet; write \"\": weights are drawn from run.seed"},
    {"run.share_device",
     {false},
     kLater,
     "there is no GPU to share yet: ranks of a node share its cores, see run.threads; write false"},
    {"optimizer.torch_adam",
     {false, true},
     kAlways,
     "Adam and AdamW are PyTorch's formulas in the program's own kernel; write true or false"},
    {"optimizer.bias_correction",
     {true},
     kRefused,
     "momentum and variance are always corrected for their start at zero; write true"},
    {"optimizer.amsgrad",
     {false},
     kRefused,
     "the variance keeps no maximum over steps; write false"},
};

const FixedKey kZeroKeys[] = {
    {"zero.contiguous_gradients",
     {true},
     kAlways,
     "gradients always lie in one planned buffer; write true"},
    {"zero.reduce_scatter",
     {true},
     kAlways,
     "stages 1 to 3 always reduce-scatter and stage 0 always all-reduces; write true"},
    {"zero.allgather_partitions",
     {true},
     kAlways,
     "updated weights are always all-gathered, never broadcast; write true"},
    {"zero.use_multi_rank_bucket_allreduce",
     {true},
     kAlways,
     "a bucket always holds the shards of all ranks; write true"},
    {"zero.ignore_unused_parameters",
     {true},
     kAlways,
     "the plan knows every parameter's use before step 1; write true"},
    {"zero.memory_efficient_linear",
     {true},
     kAlways,
     "products always read the gathered weight in place; write true"},
    {"zero.override_module_apply",
     {true},
     kAlways,
     "weights are always drawn shard by shard; write true"},
    {"zero.enable_sanity_checks",
     {false, true},
     kAlways,
     "every plan is proved free of races before step 1; write true or false"},
    {"zero.round_robin_gradients",
     {false},
     kRefused,
     "every unit is cut in equal shards, so there is no imbalance to level; write false"},
    {"zero.legacy_stage1", {false}, kRefused, "there is one stage 1; write false"},
    {"zero.sub_group_size",
     {int64_t(1'000'000'000)},
     kRefused,
     "the optimizer runs unit by unit and takes no extra memory; leave it at 1e9"},
    {"zero.stage3_model_persistence_threshold",
     {"auto"},
     kRefused,
     "only stage3_param_persistence_threshold decides what stays gathered; write \"auto\""},
    {"zero.stage3_module_granularity_threshold",
     {int64_t(0)},
     kRefused,
     "units are fixed by the model: one block each; write 0"},
    {"zero.stage3_use_all_reduce_for_fetch_params",
     {false},
     kRefused,
     "parameters are fetched by all-gather; write false"},
    {"zero.stage3_allgather_sequential",
     {false},
     kRefused,
     "a unit's gather is one collective of the plan; write false"},
    {"zero.log_trace_cache_warnings",
     {false},
     kRefused,
     "no trace is recorded: the order of use is known before step 1; write false"},
    {"zero.mics_shard_size",
     {int64_t(-1)},
     kRefused,
     "shards are cut over all ranks, not within groups; write -1"},
    {"zero.mics_hierarchical_params_gather",
     {false},
     kRefused,
     "shards are cut over all ranks, not within groups; write false"},
    {"zero.zero_hpz_partition_size",
     {int64_t(1)},
     kRefused,
     "weights have no second copy inside a node; write 1"},
    {"zero.zero_quantized_weights", {false}, kRefused, "weights travel unquantised; write false"},
    {"zero.zero_quantized_nontrainable_weights",
     {false},
     kRefused,
     "weights travel unquantised, and all are trained; write false"},
    {"zero.zero_quantized_gradients",
     {false},
     kRefused,
     "gradients travel unquantised; write false, and communication_data_type = \"bf16\" to halve "
     "their bytes"},
    {"zero.elastic_checkpoint", {false}, kLater, "no checkpoint is written yet; write false"},
    {"zero.load_from_fp32_weights", {true}, kLater, "no checkpoint is read yet; write true"},
    {"zero.pipeline_loading_checkpoint", {false}, kLater, "no checkpoint is read yet; write false"},
    {"zero.cpu_offload",
     {false},
     kLater,
     "the old name of zero.offload_optimizer.device = \"cpu\", which comes later: optimizer state "
     "rests in device memory; write false and shard it with zero.stage = 1, 2 or 3"},
    {"zero.cpu_offload_params",
     {false},
     kLater,
     "the old name of zero.offload_param.device = \"cpu\", which comes later: parameters rest in "
     "device memory; write false and shard them with zero.stage = 3"},
    {"zero.cpu_offload_use_pin_memory",
     {false},
     kLater,
     "acts only on a tier that comes later; write false"},
};

constexpr std::string_view kTiersLater =
    "the host and disk tiers come later and all state rests in device memory; write \"none\" and "
    "shard it with zero.stage = 1, 2 or 3";
constexpr std::string_view kOnlyWithTiers =
    "acts only on the host or disk tier, which comes later; remove the key";

const FixedKey kTierKeys[] = {
    {"zero.offload_optimizer.device", {"none"}, kLater, kTiersLater},
    {"zero.offload_optimizer.nvme_path", {""}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.pin_memory", {true}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.buffer_count", {int64_t(4)}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.ratio", {1.0}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.pipeline_read", {false}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.pipeline_write", {false}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.fast_init", {false}, kLater, kOnlyWithTiers},
    {"zero.offload_optimizer.super_offload", {false}, kRefused, kOnlyWithTiers},
    {"zero.offload_optimizer.cpuadam_cores_perc", {0.8}, kRefused, kOnlyWithTiers},
    {"zero.offload_param.device", {"none"}, kLater, kTiersLater},
    {"zero.offload_param.nvme_path", {""}, kLater, kOnlyWithTiers},
    {"zero.offload_param.pin_memory", {true}, kLater, kOnlyWithTiers},
    {"zero.offload_param.buffer_count", {int64_t(5)}, kLater, kOnlyWithTiers},
    {"zero.offload_param.buffer_size", {int64_t(100'000'000)}, kLater, kOnlyWithTiers},
    {"zero.offload_param.max_in_cpu", {int64_t(1'000'000'000)}, kLater, kOnlyWithTiers},
    {"aio.block_size", {int64_t(1'048'576)}, kLater, kOnlyWithTiers},
    {"aio.queue_depth", {int64_t(8)}, kLater, kOnlyWithTiers},
    {"aio.intra_op_parallelism", {int64_t(1)}, kLater, kOnlyWithTiers},
    {"aio.single_submit", {false}, kLater, kOnlyWithTiers},
    {"aio.overlap_events", {true}, kLater, kOnlyWithTiers},
    {"aio.use_gds", {false}, kLater, kOnlyWithTiers},
    {"aio.require_uring", {false}, kLater, kOnlyWithTiers},
};

const FixedKey kPrecisionKeys[] = {
    {"fp16.auto_cast", {false}, kRefused, "the model computes in fp16 throughout; write false"},
    {"fp16.fp16_master_weights_and_grads",
     {false},
     kRefused,
     "master weights are fp32, without which fp16 training loses updates; write false"},
    {"bf16.check_grad_overflow", {true}, kAlways, "gradients are always checked; write true"},
    {"bf16.immediate_grad_update",
     {false},
     kRefused,
     "gradients are reduced where the plan says; write false"},
    {"bf16.bf16_master_weights_and_grads",
     {false},
     kRefused,
     "master weights are fp32, kept as the bf16 weight and the 16 bits that complete it; write "
     "false"},
    {"bf16.bf16_optimizer_states",
     {false},
     kRefused,
     "momentum and variance are fp32; write false, and zero.stage = 1 to shard them"},
};

const FixedKey kActivationKeys[] = {
    {"activation_checkpointing.partition_activations",
     {false},
     kRefused,
     "there are no model-parallel ranks to cut activations over; write false"},
    {"activation_checkpointing.number_checkpoints",
     {"auto"},
     kRefused,
     "recompute says which blocks are recomputed; write \"auto\""},
    {"activation_checkpointing.contiguous_memory_optimization",
     {false, true},
     kAlways,
     "kept activations always lie in the planned arena; write true or false"},
    {"activation_checkpointing.synchronize_checkpoint_boundary",
     {false},
     kRefused,
     "nothing synchronises inside a step; write false"},
    {"activation_checkpointing.profile",
     {false},
     kRefused,
     "write false and set wall_clock_breakdown = true"},
    {"activation_checkpointing.cpu_checkpointing",
     {false},
     kLater,
     "activations stay in device memory for now; write false and recompute = \"full\""},
    {"activation_checkpointing.offload",
     {"none"},
     kLater,
     "activations stay in device memory for now; write \"none\" and recompute = \"full\""},
};

constexpr std::string_view kNoCheckpoints =
    "checkpoints come later: a run that ends early begins anew; remove the key, and keep the "
    "trained weights with export.at_end = true";

const FixedKey kCheckpointKeys[] = {
    {"checkpoint.dir", {""}, kLater, kNoCheckpoints},
    {"checkpoint.interval", {int64_t(0)}, kLater, kNoCheckpoints},
    {"checkpoint.keep", {int64_t(0)}, kLater, kNoCheckpoints},
    {"checkpoint.keep_every", {int64_t(0)}, kLater, kNoCheckpoints},
    {"checkpoint.best_metric", {""}, kLater, kNoCheckpoints},
    {"checkpoint.load_best_at_end", {false}, kLater, kNoCheckpoints},
    {"checkpoint.weights_only", {false}, kLater, kNoCheckpoints},
    {"checkpoint.resume",
     {"auto", "never"},
     kLater,
     "no checkpoint is written yet, so there is none to require; write \"auto\""},
    {"checkpoint.resume_from", {""}, kLater, kNoCheckpoints},
    {"checkpoint.async", {false}, kLater, kNoCheckpoints},
    {"checkpoint.max_failures", {int64_t(0)}, kLater, kNoCheckpoints},
    {"checkpoint.permissions", {"0700"}, kLater, kNoCheckpoints},
};

std::vector<FixedKey> join() {
  std::vector<FixedKey> all;
  const std::span<const FixedKey> parts[] = {
      kTopKeys, kOwnKeys, kZeroKeys, kTierKeys, kPrecisionKeys, kActivationKeys, kCheckpointKeys};
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

std::span<const FixedKey> fixed_keys() {
  static const std::vector<FixedKey> all = join();
  return all;
}

}  // namespace zero
