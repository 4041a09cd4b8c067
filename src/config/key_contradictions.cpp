#include "src/config/key_contradictions.hpp"

#include <cmath>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"

namespace zero {

Rule clash(std::vector<std::string> keys, bool (*holds)(const RunConfig&), const char* what,
           std::vector<std::string> example) {
  return {.keys = std::move(keys),
          .broken = [=](const RunConfig& c) { return std::string(holds(c) ? what : ""); },
          .example = std::move(example)};
}

namespace {

using C = RunConfig;
using Lines = std::vector<std::string>;

const std::string kFine;  // returned by a rule that holds

bool is_synthetic(const C& c) { return c.data.train == "synthetic"; }

bool validates(const C& c) { return !c.data.validation.empty() || c.data.validation_fraction > 0; }

std::string two_lengths(const C& c) {
  if (c.run.steps == 0 || c.run.epochs == 0) return kFine;
  return text("the training ends after ", counted(c.run.steps, "step"), " or after ",
              counted(c.run.epochs, "epoch"), "; write run.steps = 0 or run.epochs = 0");
}

/// Refuses too many synthetic samples: any number can be requested, but their tokens must be
/// countable.
std::string uncountable_samples(const C& c) {
  constexpr int64_t kMostTokens = int64_t(1) << 60;
  const int64_t most = kMostTokens / (c.data.sequence_length + 1);
  if (!is_synthetic(c) || c.data.max_train_samples <= most) return kFine;
  return text(c.data.max_train_samples, " samples of ", c.data.sequence_length,
              " + 1 tokens are too many to count; write at most ", most);
}

std::string late_stop(const C& c) {
  if (c.run.steps == 0 || c.run.stop_at <= c.run.steps) return kFine;
  return text("the run stops at step ", c.run.stop_at, " of ", c.run.steps, "; write at most ",
              c.run.steps, ", or 0");
}

std::vector<Rule> session_rules() {
  return {
      clash({"data.train"}, [](const C& c) { return c.data.train.empty(); },
            "missing; write a text file, or \"synthetic\" to measure speed", {"data.train = \"\""}),
      clash({"run.steps", "run.epochs"},
            [](const C& c) { return c.run.steps == 0 && c.run.epochs == 0; },
            "missing; write how many steps to train, or run.epochs", {"run.steps = 0"}),
      {.keys = {"run.steps", "run.epochs"},
       .broken = two_lengths,
       .example = {"run.steps = 10", "run.epochs = 2"}},
      clash({"run.epochs", "data.train", "data.max_train_samples"},
            [](const C& c) {
              return c.run.epochs > 0 && is_synthetic(c) && c.data.max_train_samples == 0;
            },
            "synthetic data has no end and so no epochs; write run.steps or data.max_train_samples",
            {"data.train = \"synthetic\"", "run.steps = 0", "run.epochs = 1"}),
      {.keys = {"data.max_train_samples", "data.sequence_length", "data.train"},
       .broken = uncountable_samples,
       .example = {"data.train = \"synthetic\"", "data.max_train_samples = 9000000000000000"}},
      {.keys = {"run.stop_at", "run.steps"}, .broken = late_stop, .example = {"run.stop_at = 11"}},
      clash({"run.prometheus"},
            [](const C& c) {
              return !c.run.prometheus.empty() && !c.run.prometheus.ends_with(".prom");
            },
            "node_exporter reads files whose names end in .prom; write \"NAME.prom\"",
            {"run.prometheus = \"steps.txt\""}),
      clash({"data.tokenizer"}, [](const C& c) { return c.data.tokenizer.empty(); },
            "missing; write \"bytes\", or a folder with tokenizer.json, with vocab.json and "
            "merges.txt, "
            "or with spiece.model",
            {"data.tokenizer = \"\""}),
      clash(
          {"data.validation", "data.validation_fraction"},
          [](const C& c) { return !c.data.validation.empty() && c.data.validation_fraction != 0; },
          "validation data comes from one place; remove validation or validation_fraction",
          {"data.validation = \"v.txt\"", "data.validation_fraction = 0.5"}),
      clash({"data.train", "data.validation", "data.validation_fraction"},
            [](const C& c) { return validates(c) && is_synthetic(c); },
            "synthetic data is for measurement and has no validation; remove the validation",
            {"data.train = \"synthetic\"", "data.validation_fraction = 0.5"}),
  };
}

std::string low_first_scale(const C& c) {
  const double first = std::ldexp(1.0, int(c.fp16.initial_scale_power));
  const bool dynamic = c.fp16.enabled && c.fp16.loss_scale == 0;
  if (!dynamic || c.fp16.min_loss_scale <= first) return kFine;
  return text("the least loss scale, ", c.fp16.min_loss_scale, ", is above the first, ", first,
              "; write min_loss_scale = ", first, " or less");
}

std::vector<Rule> number_rules() {
  return {
      clash({"numerics.spike_factor", "numerics.max_bad_steps"},
            [](const C& c) { return c.numerics.spike_factor > 0 && c.numerics.max_bad_steps == 0; },
            "skips at most numerics.max_bad_steps in a row, which is 0; write 1 or more, or "
            "numerics.spike_factor = 0",
            {"numerics.spike_factor = 6.0", "numerics.max_bad_steps = 0"}),
      clash({"numerics.attention", "numerics.reproducible"},
            [](const C& c) {
              return c.numerics.attention == AttentionOrder::fast && c.numerics.reproducible;
            },
            "gradients of attention that are added in any order have other bytes in each run; "
            "write numerics.attention = \"deterministic\", or numerics.reproducible = false",
            {"numerics.attention = \"fast\"", "numerics.reproducible = true"}),
      clash({"numerics.attention", "run.audit_interval"},
            [](const C& c) {
              return c.numerics.attention == AttentionOrder::fast && c.run.audit_interval > 0;
            },
            "gradients of attention that are added in any order have other bits on each rank, and "
            "an audit compares them; write numerics.attention = \"deterministic\", or "
            "run.audit_interval = 0",
            {"numerics.attention = \"fast\"", "run.audit_interval = 10"}),
      clash({"fp16.enabled", "bf16.enabled"},
            [](const C& c) { return c.fp16.enabled && c.bf16.enabled; },
            "fp16 and bf16 exclude each other; set one of them to false",
            {"fp16.enabled = true", "bf16.enabled = true"}),
      {.keys = {"fp16.min_loss_scale", "fp16.initial_scale_power"},
       .broken = low_first_scale,
       .example = {"fp16.enabled = true", "fp16.min_loss_scale = 1e6"}},
  };
}

std::vector<Rule> optimizer_rules() {
  return {
      clash({"optimizer.min_coeff", "optimizer.max_coeff"},
            [](const C& c) { return c.optimizer.min_coeff > c.optimizer.max_coeff; },
            "min_coeff is above max_coeff; swap them",
            {"optimizer.type = \"LAMB\"", "optimizer.min_coeff = 11.0"}),
      clash({"optimizer.dampening", "optimizer.momentum", "optimizer.type"},
            [](const C& c) {
              return c.optimizer.type == OptimizerType::SGD && c.optimizer.momentum == 0 &&
                     c.optimizer.dampening > 0;
            },
            "dampening has no effect without momentum; write momentum = 0.9 or dampening = 0",
            {"optimizer.type = \"SGD\"", "optimizer.dampening = 0.5"}),
      clash({"optimizer.nesterov", "optimizer.dampening", "optimizer.momentum", "optimizer.type"},
            [](const C& c) {
              const bool looks = c.optimizer.type == OptimizerType::SGD && c.optimizer.nesterov;
              return looks && (c.optimizer.momentum == 0 || c.optimizer.dampening != 0);
            },
            "nesterov needs a momentum above 0, and dampening = 0; write both, or nesterov = false",
            {"optimizer.type = \"SGD\"", "optimizer.nesterov = true"}),
  };
}

bool sends_bf16(const C& c) { return c.communication_data_type == CommunicationDtype::bf16; }

std::string other_type(const C& c) {
  if (!sends_bf16(c) || c.bf16.enabled) return kFine;
  return text("gradients travel in ", c.fp16.enabled ? "fp16" : "fp32",
              " here; write communication_data_type = \"auto\", or bf16.enabled = true");
}

/// Returns the rules on the dtype of gradients between ranks.
std::vector<Rule> wire_rules() {
  return {
      {.keys = {"communication_data_type", "bf16.enabled", "fp16.enabled"},
       .broken = other_type,
       .example = {"communication_data_type = \"bf16\""}},
      clash({"communication_data_type", "numerics.reproducible"},
            [](const C& c) { return sends_bf16(c) && c.numerics.reproducible; },
            "sums that are rounded for their way depend on the number of ranks; write "
            "communication_data_type = \"auto\", or numerics.reproducible = false",
            {"bf16.enabled = true", "communication_data_type = \"bf16\"",
             "numerics.reproducible = true"}),
      clash({"communication_data_type", "numerics.gradient_dtype"},
            [](const C& c) {
              return sends_bf16(c) && c.numerics.gradient_dtype == GradientDtype::fp32;
            },
            "sums of gradients are either rounded for their way or kept in fp32; write "
            "communication_data_type = \"auto\", or numerics.gradient_dtype = \"compute\"",
            {"bf16.enabled = true", "communication_data_type = \"bf16\"",
             "numerics.gradient_dtype = \"fp32\""}),
  };
}

std::string falling_warmup(const C& c) {
  const ScheduleConfig s = schedule_of(c).config;
  const bool begins_at_a_rate = warms_up(s.type) && s.type != ScheduleType::WarmupCosineLR;
  if (!begins_at_a_rate || s.warmup_min_lr <= s.warmup_max_lr) return kFine;
  return text("the warm-up begins at ", s.warmup_min_lr, " and ends at ", s.warmup_max_lr,
              "; write warmup_min_lr below that");
}

std::string falling_cycle(const C& c) {
  const ScheduleConfig s = schedule_of(c).config;
  if (s.type != ScheduleType::OneCycle || s.cycle_min_lr <= s.cycle_max_lr) return kFine;
  return text("the cycle begins at ", s.cycle_min_lr, " and rises to ", s.cycle_max_lr,
              "; write cycle_min_lr below that");
}

std::string short_schedule(const C& c) {
  const int64_t total = c.scheduler.total_num_steps;
  if (!needs_total(c.scheduler.type) || total == 0 || total >= c.run.steps) return kFine;
  return text("the schedule ends at step ", total, " of ", c.run.steps,
              "; write \"auto\" or at least ", c.run.steps);
}

std::vector<Rule> schedule_rules() {
  return {
      {.keys = {"scheduler.warmup_min_lr", "scheduler.warmup_max_lr", "optimizer.lr"},
       .broken = falling_warmup,
       .example = {"scheduler.type = \"WarmupLR\"", "scheduler.warmup_num_steps = 2",
                   "scheduler.warmup_min_lr = 1.0"}},
      {.keys = {"scheduler.cycle_min_lr", "scheduler.cycle_max_lr", "optimizer.lr"},
       .broken = falling_cycle,
       .example = {"scheduler.type = \"OneCycle\"", "scheduler.cycle_min_lr = 1.0"}},
      {.keys = {"scheduler.total_num_steps", "run.steps"},
       .broken = short_schedule,
       .example = {"scheduler.type = \"WarmupDecayLR\"", "scheduler.warmup_num_steps = 2",
                   "scheduler.total_num_steps = 5"}},
      {.keys = {"scheduler.wsd_decay_steps", "scheduler.total_num_steps", "run.steps"},
       .broken = long_decay,
       .example = {"scheduler.type = \"WSD\"", "scheduler.warmup_num_steps = 2",
                   "scheduler.wsd_decay_steps = 11"}},
  };
}

std::string resident_parameters(const C& c) {
  if (c.offload_param.device == Home::none || c.zero.stage == 3) return kFine;
  return text("stage ", c.zero.stage,
              " keeps all parameters on the device, only stage 3 fetches them; write zero.stage = "
              "3");
}

std::string groups_of_whole_weights(const C& c) {
  if (c.zero.shard_group == 0 || c.zero.stage == 3) return kFine;
  return text("stage ", c.zero.stage, " keeps all weights on each rank, only stage 3 shards them; ",
              "write zero.stage = 3, or zero.shard_group = \"all\"");
}

/// Returns the rule that a home on a disk needs a named folder.
Rule no_folder(const std::string& section, const char* device, bool (*holds)(const C&),
               const char* condition) {
  const std::string key = section + ".nvme_path", home = section + "." + device;
  return {.keys = {key, home},
          .broken =
              [=](const C& c) {
                return holds(c) ? key + " is missing; write the folder of a local disk" : kFine;
              },
          .example = {condition, home + " = \"nvme\"", key + " = \"\""}};
}

std::string uneven_block(const C& c) {
  if (c.aio.block_size % 4096 == 0) return kFine;
  return text("disks move whole blocks, and ", c.aio.block_size,
              " bytes are none; write a multiple of 4096");
}

std::vector<Rule> tier_rules() {
  return {
      clash({"zero.offload_optimizer.device", "zero.stage"},
            [](const C& c) {
              return c.offload_optimizer.device != Home::none && c.zero.stage < kLeastOffloadStage;
            },
            "at stage 0 every rank would run the whole optimizer on the host; write zero.stage = "
            "1, 2 or 3",
            {"zero.stage = 0", "zero.offload_optimizer.device = \"cpu\""}),
      clash({"zero.offload_optimizer.speculate", "zero.offload_optimizer.device",
             "zero.offload_param.device", "optimizer.type"},
            [](const C& c) {
              const bool away =
                  c.offload_param.device == Home::cpu || c.offload_param.device == Home::nvme;
              return c.offload_optimizer.speculate.value_or(false) &&
                     (away || c.optimizer.type == OptimizerType::LAMB);
            },
            "updates begin before the norm is known where weights rest on the device and the "
            "optimizer needs no norms of tensors; write zero.offload_param.device = \"none\" and "
            "another optimizer.type than \"LAMB\", or zero.offload_optimizer.speculate = false",
            {"zero.stage = 3", "zero.offload_optimizer.device = \"cpu\"",
             "zero.offload_param.device = \"cpu\"", "zero.offload_optimizer.speculate = true"}),
      {.keys = {"zero.shard_group", "zero.stage"},
       .broken = groups_of_whole_weights,
       .example = {"zero.stage = 2", "zero.shard_group = 2"}},
      {.keys = {"zero.offload_param.device", "zero.stage"},
       .broken = resident_parameters,
       .example = {"zero.stage = 2", "zero.offload_param.device = \"cpu\""}},
      clash({"zero.offload_optimizer.pin_memory", "zero.offload_param.pin_memory",
             "zero.offload_optimizer.device", "zero.offload_param.device"},
            [](const C& c) {
              return c.offload_optimizer.device != Home::none &&
                     c.offload_param.device != Home::none &&
                     c.offload_optimizer.pin_memory != c.offload_param.pin_memory;
            },
            "states and parameters share one block of host memory, which is pinned as a whole; "
            "write the same in both",
            {"zero.stage = 3", "zero.offload_optimizer.device = \"cpu\"",
             "zero.offload_param.device = \"cpu\"", "zero.offload_param.pin_memory = false"}),
      no_folder(
          "zero.offload_optimizer", "device",
          [](const C& c) {
            return c.offload_optimizer.device == Home::nvme &&
                   c.offload_optimizer.nvme_path.empty();
          },
          "zero.stage = 1"),
      no_folder(
          "zero.offload_param", "device",
          [](const C& c) {
            return c.offload_param.device == Home::nvme && c.offload_param.nvme_path.empty();
          },
          "zero.stage = 3"),
      {.keys = {"aio.block_size"},
       .broken = uneven_block,
       .example = {"zero.stage = 1", "zero.offload_optimizer.device = \"nvme\"",
                   "zero.offload_optimizer.nvme_path = \"disk\"", "aio.block_size = 5000"}},
  };
}

std::vector<Rule> activation_rules() {
  return {
      clash({"activation_checkpointing.offload", "activation_checkpointing.cpu_checkpointing",
             "activation_checkpointing.recompute"},
            [](const C& c) {
              return c.offload_activations.home() != Home::none &&
                     c.recompute.mode == Recompute::Mode::none;
            },
            "what recomputation begins with may leave the device, and nothing is computed again; "
            "write recompute = \"full\", \"selective\" or a list of blocks",
            {"activation_checkpointing.recompute = \"none\"",
             "activation_checkpointing.offload = \"cpu\""}),
      clash({"activation_checkpointing.offload", "activation_checkpointing.cpu_checkpointing"},
            [](const C& c) {
              return c.offload_activations.cpu_checkpointing &&
                     c.offload_activations.offload == Home::nvme;
            },
            "cpu_checkpointing = true is offload = \"cpu\", and offload says \"nvme\"; remove one",
            {"activation_checkpointing.recompute = \"full\"",
             "activation_checkpointing.nvme_path = \"disk\"",
             "activation_checkpointing.offload = \"nvme\"",
             "activation_checkpointing.cpu_checkpointing = true"}),
      no_folder(
          "activation_checkpointing", "offload",
          [](const C& c) {
            return c.offload_activations.offload == Home::nvme &&
                   c.offload_activations.nvme_path.empty();
          },
          "activation_checkpointing.recompute = \"full\""),
  };
}

}  // namespace

std::vector<Rule> rules_for(const ModelConfig& model) {
  std::vector<Rule> all;
  for (auto& some : {session_rules(), data_rules(model), model_rules(model), number_rules(),
                     optimizer_rules(), wire_rules(), schedule_rules(), tier_rules(),
                     activation_rules(), checkpoint_rules(), generation_rules()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace zero
