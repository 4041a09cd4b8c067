#include "src/config/key_table.hpp"

namespace zero {
namespace {

constexpr Standing kOurs = Standing::ours, kSame = Standing::same, kCap = Standing::cap;

void stage_fields(Table& table, ZeroConfig& c) {
  table.section("zero", kSame);
  table.integer("stage", c.stage, {.high = 3});
  table.integer("reduce_bucket_size", c.reduce_bucket_size, {.low = 1}).standing = kCap;
  table.integer("allgather_bucket_size", c.allgather_bucket_size, {.low = 1}).standing = kCap;
  table.flag("overlap_comm", c.overlap_comm);
  table.integer("stage3_prefetch_bucket_size", c.stage3_prefetch_bucket_size, {}).standing = kCap;
  Field& kept =
      table.integer("stage3_param_persistence_threshold", c.stage3_param_persistence_threshold, {});
  kept.standing = kCap;
  kept.note =
      "it is compared with whole units, and a run says so where it keeps none of them; there it "
      "counts single parameters";
  table.integer("stage3_max_live_parameters", c.stage3_max_live_parameters, {}).standing = kCap;
  table.integer("stage3_max_reuse_distance", c.stage3_max_reuse_distance, {}).standing = kCap;
  table.flag("stage3_gather_16bit_weights_on_model_save",
             c.stage3_gather_16bit_weights_on_model_save);
  Field& group = table.other("shard_group", GroupSize{&c.shard_group});
  group.standing = kOurs;
  group.note =
      "there mics_shard_size, and nearly zero_hpz_partition_size; states of the optimizer stay cut "
      "over all ranks";
}

void stage_fields_without_member(Table& table) {
  table.always("contiguous_gradients", "gradients always lie in one planned buffer");
  table.always("reduce_scatter",
               "stages 1 to 3 always reduce-scatter and stage 0 always all-reduces");
  table.always("allgather_partitions", "updated weights are always all-gathered, never broadcast");
  table.always("use_multi_rank_bucket_allreduce", "a bucket always holds the shards of all ranks");
  table.always("ignore_unused_parameters", "the plan knows every parameter's use before step 1");
  table.always("memory_efficient_linear", "products always read the gathered weight in place");
  table.always("override_module_apply", "weights are always drawn shard by shard");
  table.either("enable_sanity_checks", false, "every plan is proved free of races before step 1");
  table.hint("round_robin_gradients", false,
             "every unit is cut in equal shards, so there is no imbalance to level");
  table.refused("legacy_stage1", false, "there is one stage 1");
  table.hint("sub_group_size", int64_t(1'000'000'000),
             "the optimizer runs unit by unit and takes no extra memory");
  table.refused("stage3_model_persistence_threshold", "auto",
                "only stage3_param_persistence_threshold decides what stays gathered");
  table.refused("stage3_module_granularity_threshold", int64_t(0),
                "units are fixed by the model: one block each");
  table.refused("stage3_use_all_reduce_for_fetch_params", false,
                "parameters are fetched by all-gather");
  table.refused("stage3_allgather_sequential", false,
                "a unit's gather is one collective of the plan");
  table.refused("log_trace_cache_warnings", false,
                "no trace is recorded: the order of use is known before step 1");
  table.refused("mics_shard_size", int64_t(-1), "another key cuts weights within groups",
                ", and zero.shard_group");
  table.either("mics_hierarchical_params_gather", false,
               "a shard crosses to a node once wherever nodes are alike");
  table.refused("zero_hpz_partition_size", int64_t(1), "another key cuts weights within groups",
                ", and zero.shard_group");
  table.refused("zero_quantized_weights", false, "weights travel unquantised");
  table.refused("zero_quantized_nontrainable_weights", false,
                "weights travel unquantised, and all are trained");
  table.refused("zero_quantized_gradients", false, "gradients travel unquantised",
                ", and communication_data_type = \"bf16\" in a bf16 run to halve the bytes of sums "
                "of several micro-batches at stages 0 and 1");
  table.either("elastic_checkpoint", false, "every checkpoint loads at every rank count and stage");
  table.refused("load_from_fp32_weights", true,
                "a resume restores the fp32 masters, so that training goes on with the same bytes");
  table.refused("pipeline_loading_checkpoint", false,
                "each rank reads its own slices alone, in pieces");
  table.refused("cpu_offload", false, "the old name of another key",
                ", and zero.offload_optimizer.device = \"cpu\"");
  table.refused("cpu_offload_params", false, "the old name of another key",
                ", and zero.offload_param.device = \"cpu\"");
  table.either("cpu_offload_use_pin_memory", false, "the old name of two keys",
               ", and pin_memory of zero.offload_optimizer and zero.offload_param");
}

void tier_fields(Table& table, RunConfig& c) {
  const std::vector<std::string_view> homes = {"none", "cpu", "nvme", "auto"};
  table.section("zero.offload_optimizer", kSame);
  table.choice("device", c.offload_optimizer.device, homes);
  table.word("nvme_path", c.offload_optimizer.nvme_path);
  table.integer("buffer_count", c.offload_optimizer.buffer_count,
                {.low = 1, .high = 1024, .automatic = true});
  table.real("ratio", c.offload_optimizer.ratio, {.high = 1});
  table.flag("pin_memory", c.offload_optimizer.pin_memory).note =
      "of GPUs: false leaves their host memory unpinned; a program for the host warns that it "
      "changes nothing";
  Field& speculate = table.other("speculate", Open{&c.offload_optimizer.speculate});
  speculate.standing = kOurs;
  speculate.note =
      "updates begin before the norm is known, into second copies; auto: where a GPU's step is "
      "shorter for it by the rates of run.machine's file and host memory has the room";
  table.either("pipeline_read", false, "disk reads, updates and disk writes always overlap");
  table.either("pipeline_write", false, "disk reads, updates and disk writes always overlap");
  table.refused(
      "fast_init", false,
      "each block on disk is written once at the start, so that every read can be checked");
  table.refused("super_offload", false,
                "another key has updates begin before the norm of all gradients is known",
                ", and zero.offload_optimizer.speculate = true");
  table.hint("cpuadam_cores_perc", 0.8,
             "the host's optimizer has as many threads as compute, which run.threads sets",
             {.high = 1});
  table.section("zero.offload_param", kSame);
  table.choice("device", c.offload_param.device, homes);
  table.word("nvme_path", c.offload_param.nvme_path);
  table.flag("pin_memory", c.offload_param.pin_memory).note =
      "as that of zero.offload_optimizer, with which it shares one block of host memory";
  table.hint("buffer_count", int64_t(5),
             "stage3_prefetch_bucket_size says how many parameters are on their way");
  table.hint("buffer_size", int64_t(100'000'000), "a staging buffer is as long as its unit");
  table.hint("max_in_cpu", int64_t(1'000'000'000),
             "of parameters on nvme, host memory holds those on their way");
}

void disk_fields(Table& table, AioConfig& c) {
  table.section("aio", kSame);
  table.integer("block_size", c.block_size, {.low = 4096, .high = 1 << 30}).note =
      "several folders take turns after so many bytes, but not below 1 MiB";
  table.integer("queue_depth", c.queue_depth, {.low = 1, .high = 4096}).note =
      "for reads and for writes; a unit of fewer blocks keeps no more under way";
  table.integer("intra_op_parallelism", c.intra_op_parallelism, {.low = 1, .high = 64}).note =
      "of the threads that take the place of io_uring where the machine has none; beside io_uring "
      "it does nothing, which a warning says, or an error where require_uring is true";
  table.flag("single_submit", c.single_submit);
  table.flag("overlap_events", c.overlap_events);
  table.flag("require_uring", c.require_uring).standing = kOurs;
  table.refused("use_gds", false, "bytes pass through host memory between disk and device");
}

}  // namespace

void zero_fields(Table& table, RunConfig& config) {
  stage_fields(table, config.zero);
  stage_fields_without_member(table);
  tier_fields(table, config);
  disk_fields(table, config.aio);
}

}  // namespace zero
