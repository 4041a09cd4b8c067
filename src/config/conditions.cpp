#include "src/config/optimizer_rows.hpp"
#include "src/config/rules.hpp"

namespace zero {
namespace {

bool dynamic_scale(const RunConfig& c) { return c.fp16.enabled && c.fp16.loss_scale == 0; }

bool validates(const RunConfig& c) {
  return !c.data.validation.empty() || c.data.validation_fraction > 0;
}

bool moves_optimizer(const RunConfig& c) { return c.offload_optimizer.device != Home::none; }

bool moves_activations(const RunConfig& c) { return c.offload_activations.home() != Home::none; }

/// Of "auto" only where there is a disk to choose.
bool may_use_disk(Home home, const std::string& path) {
  return home == Home::nvme || (home == Home::automatic && !path.empty());
}

bool uses_disk(const RunConfig& c) {
  return may_use_disk(c.offload_optimizer.device, c.offload_optimizer.nvme_path) ||
         may_use_disk(c.offload_param.device, c.offload_param.nvme_path) ||
         c.offload_activations.home() == Home::nvme;
}

bool takes_folder(Home home) { return home == Home::nvme || home == Home::automatic; }

std::vector<Condition> tier_conditions() {
  return {
      {.keys = {"zero.offload_optimizer.buffer_count", "zero.offload_optimizer.ratio",
                "zero.offload_optimizer.pin_memory"},
       .because = {"zero.offload_optimizer.device"},
       .wanted = "zero.offload_optimizer.device = \"cpu\", \"nvme\" or \"auto\"",
       .holds = moves_optimizer,
       .example = {"zero.offload_optimizer.device = \"none\""}},
      {.keys = {"zero.offload_param.pin_memory"},
       .because = {"zero.offload_param.device"},
       .wanted = "zero.offload_param.device = \"cpu\", \"nvme\" or \"auto\"",
       .holds = [](const RunConfig& c) { return c.offload_param.device != Home::none; },
       .example = {"zero.offload_param.device = \"none\""}},
      {.keys = {"zero.offload_optimizer.nvme_path"},
       .because = {"zero.offload_optimizer.device"},
       .wanted = "zero.offload_optimizer.device = \"nvme\" or \"auto\"",
       .holds = [](const RunConfig& c) { return takes_folder(c.offload_optimizer.device); },
       .example = {"zero.offload_optimizer.device = \"none\""}},
      {.keys = {"zero.offload_param.nvme_path"},
       .because = {"zero.offload_param.device"},
       .wanted = "zero.offload_param.device = \"nvme\" or \"auto\"",
       .holds = [](const RunConfig& c) { return takes_folder(c.offload_param.device); },
       .example = {"zero.offload_param.device = \"none\""}},
      {.keys = {"aio.block_size", "aio.queue_depth", "aio.intra_op_parallelism",
                "aio.single_submit", "aio.overlap_events", "aio.require_uring"},
       .because = {"zero.offload_param.device", "activation_checkpointing.offload",
                   "zero.offload_optimizer.device"},
       .wanted = "a device = \"nvme\", or \"auto\" with nvme_path, of zero.offload_optimizer or "
                 "zero.offload_param, or activation_checkpointing.offload = \"nvme\"",
       .holds = uses_disk,
       .example = {"zero.offload_optimizer.device = \"none\""}},
      {.keys = {"aio.intra_op_parallelism"},
       .because = {"aio.require_uring"},
       .wanted = "aio.require_uring = false, where threads may take the place of io_uring",
       .holds = [](const RunConfig& c) { return !c.aio.require_uring || !uses_disk(c); },
       .example = {"zero.stage = 1", "zero.offload_optimizer.device = \"nvme\"",
                   "zero.offload_optimizer.nvme_path = \"disk\"", "aio.require_uring = true"}},
      {.keys = {"activation_checkpointing.nvme_path"},
       .because = {"activation_checkpointing.offload"},
       .wanted = "activation_checkpointing.offload = \"nvme\"",
       .holds = [](const RunConfig& c) { return c.offload_activations.offload == Home::nvme; },
       .example = {"activation_checkpointing.offload = \"none\""}},
      {.keys = {"activation_checkpointing.buffer_count"},
       .because = {"activation_checkpointing.cpu_checkpointing",
                   "activation_checkpointing.offload"},
       .wanted = "activation_checkpointing.offload = \"cpu\" or \"nvme\"",
       .holds = moves_activations,
       .example = {"activation_checkpointing.offload = \"none\""}},
  };
}

std::vector<Condition> engine_conditions() {
  return {
      {.keys = {"zero.allgather_bucket_size"},
       .because = {"zero.stage"},
       .wanted = "zero.stage = 1, 2 or 3",
       .holds = [](const RunConfig& c) { return c.zero.stage >= 1; },
       .example = {"zero.stage = 0"}},
      {.keys = {"zero.stage3_prefetch_bucket_size", "zero.stage3_param_persistence_threshold",
                "zero.stage3_max_live_parameters", "zero.stage3_max_reuse_distance"},
       .because = {"zero.stage"},
       .wanted = "zero.stage = 3",
       .holds = [](const RunConfig& c) { return c.zero.stage == 3; },
       .example = {"zero.stage = 2"}},
      {.keys = {"fp16.loss_scale", "fp16.initial_scale_power", "fp16.loss_scale_window",
                "fp16.hysteresis", "fp16.consecutive_hysteresis", "fp16.min_loss_scale"},
       .because = {"fp16.enabled"},
       .wanted = "fp16.enabled = true",
       .holds = [](const RunConfig& c) { return c.fp16.enabled; },
       .example = {"fp16.enabled = false"}},
      {.keys = {"fp16.initial_scale_power", "fp16.loss_scale_window", "fp16.hysteresis",
                "fp16.consecutive_hysteresis", "fp16.min_loss_scale"},
       .because = {"fp16.loss_scale"},
       .wanted = "the dynamic fp16.loss_scale = 0",
       .holds = [](const RunConfig& c) { return !c.fp16.enabled || dynamic_scale(c); },
       .example = {"fp16.enabled = true", "fp16.loss_scale = 128.0"}},
      {.keys = {"numerics.max_bad_steps"},
       .because = {"fp16.enabled", "fp16.loss_scale"},
       .wanted =
           "fp32, bf16 or a constant fp16.loss_scale; a dynamic one ends at fp16.min_loss_scale",
       .holds = [](const RunConfig& c) { return !dynamic_scale(c); },
       .example = {"fp16.enabled = true"}},
      {.keys = {"checkpoint.keep_every"},
       .because = {"checkpoint.keep"},
       .wanted = "a checkpoint.keep that removes any",
       .holds = [](const RunConfig& c) { return c.checkpoint.keep > 0; },
       .example = {"checkpoint.keep = 0"}},
      {.keys = {"checkpoint.load_best_at_end"},
       .because = {"checkpoint.best_metric"},
       .wanted = "checkpoint.best_metric = \"eval_loss\"",
       .holds = [](const RunConfig& c) { return c.checkpoint.best_metric != BestMetric::none; },
       .example = {"checkpoint.best_metric = \"\""}},
  };
}

std::vector<Condition> data_conditions() {
  return {
      {.keys = {"data.tokenizer"},
       .because = {"data.train"},
       .wanted = "a file as data.train",
       .holds = [](const RunConfig& c) { return c.data.train != "synthetic"; },
       .example = {"data.train = \"synthetic\""}},
      {.keys = {"data.changed"},
       .because = {"checkpoint.resume"},
       .wanted = "checkpoint.resume = \"auto\" or \"require\"",
       .holds = [](const RunConfig& c) { return c.checkpoint.resume != Resume::never; },
       .example = {"checkpoint.resume = \"never\""}},
      {.keys = {"data.max_validation_samples", "evaluation.interval", "evaluation.micro_batch_size",
                "evaluation.show_samples", "checkpoint.best_metric"},
       .because = {"data.validation", "data.validation_fraction"},
       .wanted = "data.validation or data.validation_fraction",
       .holds = validates,
       .example = {"data.validation_fraction = 0.0"}},
  };
}

std::vector<Condition> join() {
  std::vector<Condition> all = schedule_conditions();
  for (Condition& condition : optimizer_conditions()) all.push_back(std::move(condition));
  for (Condition& condition : engine_conditions()) all.push_back(std::move(condition));
  for (Condition& condition : data_conditions()) all.push_back(std::move(condition));
  for (Condition& condition : tier_conditions()) all.push_back(std::move(condition));
  return all;
}

}  // namespace

std::span<const Condition> conditions() {
  static const std::vector<Condition> all = join();
  return all;
}

}  // namespace zero
