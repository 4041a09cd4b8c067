#include <cmath>

#include "src/config/optimizer_rows.hpp"
#include "src/config/rules.hpp"
#include "zero/base/counted.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

const std::string kFine;  // what a rule says of settings that it has nothing against

std::string no_data(const RunConfig& c) {
  if (!c.data.train.empty()) return kFine;
  return "missing; write a text file, or \"synthetic\" to measure speed";
}

std::string no_length(const RunConfig& c) {
  if (c.run.steps > 0 || c.run.epochs > 0) return kFine;
  return "missing; write how many steps to train, or run.epochs";
}

std::string two_lengths(const RunConfig& c) {
  if (c.run.steps == 0 || c.run.epochs == 0) return kFine;
  return text("the training ends after ", counted(c.run.steps, "step"), " or after ",
              counted(c.run.epochs, "epoch"), "; write run.steps = 0 or run.epochs = 0");
}

std::string endless_epochs(const RunConfig& c) {
  if (c.run.epochs == 0 || c.data.train != "synthetic" || c.data.max_train_samples) return kFine;
  return "synthetic data has no end and so no epochs; write run.steps or data.max_train_samples";
}

/// Of synthetic data there are as many as are asked for, and their tokens are counted.
std::string uncountable_samples(const RunConfig& c) {
  constexpr int64_t kMostTokens = int64_t(1) << 60;
  const int64_t most = kMostTokens / (c.data.sequence_length + 1);
  if (c.data.train != "synthetic" || c.data.max_train_samples <= most) return kFine;
  return text(c.data.max_train_samples, " samples of ", c.data.sequence_length,
              " + 1 tokens are too many to count; write at most ", most);
}

std::string no_tokenizer(const RunConfig& c) {
  if (!c.data.tokenizer.empty()) return kFine;
  return "missing; write \"bytes\", or a folder with vocab.json and merges.txt";
}

std::string validation_twice(const RunConfig& c) {
  if (c.data.validation.empty() || c.data.validation_fraction == 0) return kFine;
  return "validation data comes from one place; remove validation or validation_fraction";
}

std::string synthetic_validation(const RunConfig& c) {
  const bool wanted = !c.data.validation.empty() || c.data.validation_fraction > 0;
  if (!wanted || c.data.train != "synthetic") return kFine;
  return "synthetic data is for measurement and has no validation; remove the validation";
}

std::string any_order_of_sums(const RunConfig& c) {
  if (c.numerics.attention != AttentionOrder::fast || !c.numerics.reproducible) return "";
  return "gradients of attention that are added in any order have other bytes in each run; write "
         "numerics.attention = \"deterministic\", or numerics.reproducible = false";
}

std::string two_halves(const RunConfig& c) {
  if (!c.fp16.enabled || !c.bf16.enabled) return kFine;
  return "fp16 and bf16 exclude each other; set one of them to false";
}

std::string low_first_scale(const RunConfig& c) {
  const double first = std::ldexp(1.0, int(c.fp16.initial_scale_power));
  const bool dynamic = c.fp16.enabled && c.fp16.loss_scale == 0;
  if (!dynamic || c.fp16.min_loss_scale <= first) return kFine;
  return text("the least loss scale, ", c.fp16.min_loss_scale, ", is above the first, ", first,
              "; write min_loss_scale = ", first, " or less");
}

std::string late_stop(const RunConfig& c) {
  if (c.run.steps == 0 || c.run.stop_at <= c.run.steps) return kFine;
  return text("the run stops at step ", c.run.stop_at, " of ", c.run.steps, "; write at most ",
              c.run.steps, ", or 0");
}

std::string lone_checkpoint(const RunConfig& c) {
  if (c.checkpoint.keep != 1) return kFine;
  return "a single checkpoint is lost with one damaged block; write 2 or more, or 0 to keep all";
}

std::string unmeasured_best(const RunConfig& c) {
  const int64_t saves = c.checkpoint.interval, evaluates = c.evaluation.interval;
  const bool measured = saves > 0 && evaluates > 0 && saves % evaluates == 0;
  const bool validates = !c.data.validation.empty() || c.data.validation_fraction > 0;
  if (c.checkpoint.best_metric == BestMetric::none || !validates || measured) return kFine;
  return text("the best is chosen among steps that are saved and evaluated; write ",
              "checkpoint.interval as a multiple of evaluation.interval, not ", saves, " and ",
              evaluates);
}

std::string half_a_best(const RunConfig& c) {
  if (!c.checkpoint.load_best_at_end || !c.checkpoint.weights_only) return kFine;
  return "the best state is loaded whole; remove weights_only or load_best_at_end";
}

std::string unwanted_source(const RunConfig& c) {
  if (c.checkpoint.resume_from.empty() || c.checkpoint.resume != Resume::never) return kFine;
  return "resume = \"never\" begins anew; remove resume_from or resume";
}

std::string two_beginnings(const RunConfig& c) {
  if (c.checkpoint.resume_from.empty() || c.model.init_from.empty()) return kFine;
  return "resume_from goes on with a whole training, init_from begins one with weights alone; "
         "remove one of them";
}

std::vector<Rule> checkpoint_rules() {
  return {
      {.keys = {"checkpoint.keep"}, .broken = lone_checkpoint, .example = {"checkpoint.keep = 1"}},
      {.keys = {"checkpoint.best_metric", "checkpoint.interval", "evaluation.interval",
                "data.validation", "data.validation_fraction"},
       .broken = unmeasured_best,
       .example = {"data.validation_fraction = 0.5", "checkpoint.best_metric = \"eval_loss\"",
                   "evaluation.interval = 10", "checkpoint.interval = 15"}},
      {.keys = {"checkpoint.load_best_at_end", "checkpoint.weights_only", "checkpoint.best_metric"},
       .broken = half_a_best,
       .example = {"data.validation_fraction = 0.5", "evaluation.interval = 10",
                   "checkpoint.interval = 10", "checkpoint.best_metric = \"eval_loss\"",
                   "checkpoint.weights_only = true", "checkpoint.load_best_at_end = true"}},
      {.keys = {"checkpoint.resume_from", "checkpoint.resume"},
       .broken = unwanted_source,
       .example = {"checkpoint.resume = \"never\"", "checkpoint.resume_from = \"runs/other\""}},
      {.keys = {"checkpoint.resume_from", "model.init_from"},
       .broken = two_beginnings,
       .example = {"checkpoint.resume_from = \"runs/a\"", "model.init_from = \"runs/b\""}},
  };
}

std::string replicated_optimizer(const RunConfig& c) {
  if (c.offload_optimizer.device == Home::none || c.zero.stage > 0) return kFine;
  return "at stage 0 every rank would run the whole optimizer on the host; write zero.stage = 1, 2 "
         "or 3";
}

std::string resident_parameters(const RunConfig& c) {
  if (c.offload_param.device == Home::none || c.zero.stage == 3) return kFine;
  return text("stage ", c.zero.stage,
              " keeps all parameters on the device, only stage 3 fetches them; write zero.stage = "
              "3");
}

std::string half_pinned(const RunConfig& c) {
  const bool both =
      c.offload_optimizer.device != Home::none && c.offload_param.device != Home::none;
  if (!both || c.offload_optimizer.pin_memory == c.offload_param.pin_memory) return kFine;
  return "states and parameters share one block of host memory, which is pinned as a whole; write "
         "the same in both";
}

std::string no_folder(const char* key, Home home, const std::string& path) {
  if (home != Home::nvme || !path.empty()) return kFine;
  return text(key, " is missing; write the folder of a local disk");
}

std::string no_optimizer_folder(const RunConfig& c) {
  return no_folder("zero.offload_optimizer.nvme_path", c.offload_optimizer.device,
                   c.offload_optimizer.nvme_path);
}

std::string no_parameter_folder(const RunConfig& c) {
  return no_folder("zero.offload_param.nvme_path", c.offload_param.device,
                   c.offload_param.nvme_path);
}

std::string no_activation_folder(const RunConfig& c) {
  return no_folder("activation_checkpointing.nvme_path", c.offload_activations.offload,
                   c.offload_activations.nvme_path);
}

std::string whole_activations(const RunConfig& c) {
  const bool recomputes = c.recompute.mode != Recompute::Mode::none;
  if (c.offload_activations.home() == Home::none || recomputes) return kFine;
  return "what recomputation begins with may leave the device, and nothing is computed again; "
         "write recompute = \"full\", \"selective\" or a list of blocks";
}

std::string two_activation_homes(const RunConfig& c) {
  const OffloadActivationsConfig& offload = c.offload_activations;
  if (!offload.cpu_checkpointing || offload.offload != Home::nvme) return kFine;
  return "cpu_checkpointing = true is offload = \"cpu\", and offload says \"nvme\"; remove one";
}

std::string uneven_block(const RunConfig& c) {
  if (c.aio.block_size % 4096 == 0) return kFine;
  return text("disks move whole blocks, and ", c.aio.block_size,
              " bytes are none; write a multiple of 4096");
}

std::vector<Rule> activation_rules() {
  return {
      {.keys = {"activation_checkpointing.offload", "activation_checkpointing.cpu_checkpointing",
                "activation_checkpointing.recompute"},
       .broken = whole_activations,
       .example = {"activation_checkpointing.recompute = \"none\"",
                   "activation_checkpointing.offload = \"cpu\""}},
      {.keys = {"activation_checkpointing.offload", "activation_checkpointing.cpu_checkpointing"},
       .broken = two_activation_homes,
       .example = {"activation_checkpointing.recompute = \"full\"",
                   "activation_checkpointing.nvme_path = \"disk\"",
                   "activation_checkpointing.offload = \"nvme\"",
                   "activation_checkpointing.cpu_checkpointing = true"}},
      {.keys = {"activation_checkpointing.nvme_path", "activation_checkpointing.offload"},
       .broken = no_activation_folder,
       .example = {"activation_checkpointing.recompute = \"full\"",
                   "activation_checkpointing.offload = \"nvme\"",
                   "activation_checkpointing.nvme_path = \"\""}},
  };
}

std::vector<Rule> tier_rules() {
  return {
      {.keys = {"zero.offload_optimizer.device", "zero.stage"},
       .broken = replicated_optimizer,
       .example = {"zero.stage = 0", "zero.offload_optimizer.device = \"cpu\""}},
      {.keys = {"zero.offload_param.device", "zero.stage"},
       .broken = resident_parameters,
       .example = {"zero.stage = 2", "zero.offload_param.device = \"cpu\""}},
      {.keys = {"zero.offload_optimizer.pin_memory", "zero.offload_param.pin_memory",
                "zero.offload_optimizer.device", "zero.offload_param.device"},
       .broken = half_pinned,
       .example = {"zero.stage = 3", "zero.offload_optimizer.device = \"cpu\"",
                   "zero.offload_param.device = \"cpu\"", "zero.offload_param.pin_memory = false"}},
      {.keys = {"zero.offload_optimizer.nvme_path", "zero.offload_optimizer.device"},
       .broken = no_optimizer_folder,
       .example = {"zero.stage = 1", "zero.offload_optimizer.device = \"nvme\"",
                   "zero.offload_optimizer.nvme_path = \"\""}},
      {.keys = {"zero.offload_param.nvme_path", "zero.offload_param.device"},
       .broken = no_parameter_folder,
       .example = {"zero.stage = 3", "zero.offload_param.device = \"nvme\"",
                   "zero.offload_param.nvme_path = \"\""}},
      {.keys = {"aio.block_size"},
       .broken = uneven_block,
       .example = {"zero.stage = 1", "zero.offload_optimizer.device = \"nvme\"",
                   "zero.offload_optimizer.nvme_path = \"disk\"", "aio.block_size = 5000"}},
  };
}

std::vector<Rule> session_rules() {
  return {
      {.keys = {"data.train"}, .broken = no_data, .example = {"data.train = \"\""}},
      {.keys = {"run.steps", "run.epochs"}, .broken = no_length, .example = {"run.steps = 0"}},
      {.keys = {"run.steps", "run.epochs"},
       .broken = two_lengths,
       .example = {"run.steps = 10", "run.epochs = 2"}},
      {.keys = {"run.epochs", "data.train", "data.max_train_samples"},
       .broken = endless_epochs,
       .example = {"data.train = \"synthetic\"", "run.steps = 0", "run.epochs = 1"}},
      {.keys = {"data.max_train_samples", "data.sequence_length", "data.train"},
       .broken = uncountable_samples,
       .example = {"data.train = \"synthetic\"", "data.max_train_samples = 9000000000000000"}},
      {.keys = {"run.stop_at", "run.steps"}, .broken = late_stop, .example = {"run.stop_at = 11"}},
      {.keys = {"data.tokenizer"}, .broken = no_tokenizer, .example = {"data.tokenizer = \"\""}},
      {.keys = {"data.validation", "data.validation_fraction"},
       .broken = validation_twice,
       .example = {"data.validation = \"v.txt\"", "data.validation_fraction = 0.5"}},
      {.keys = {"data.train", "data.validation", "data.validation_fraction"},
       .broken = synthetic_validation,
       .example = {"data.train = \"synthetic\"", "data.validation_fraction = 0.5"}},
  };
}

std::vector<Rule> number_rules() {
  return {
      {.keys = {"numerics.attention", "numerics.reproducible"},
       .broken = any_order_of_sums,
       .example = {"numerics.attention = \"fast\"", "numerics.reproducible = true"}},
      {.keys = {"fp16.enabled", "bf16.enabled"},
       .broken = two_halves,
       .example = {"fp16.enabled = true", "bf16.enabled = true"}},
      {.keys = {"fp16.min_loss_scale", "fp16.initial_scale_power"},
       .broken = low_first_scale,
       .example = {"fp16.enabled = true", "fp16.min_loss_scale = 1e6"}},
  };
}

}  // namespace

std::vector<Rule> rules_for(const ModelConfig& model) {
  std::vector<Rule> all;
  for (auto& some :
       {session_rules(), model_rules(model), number_rules(), optimizer_rules(), wire_rules(),
        schedule_rules(), tier_rules(), activation_rules(), checkpoint_rules()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace zero
