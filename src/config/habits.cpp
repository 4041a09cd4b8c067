#include "src/config/habits.hpp"

#include <utility>

namespace zero {
namespace {

struct Habit {
  std::string_view key, advice;
};

const Habit kHabits[] = {
    {"learning_rate", "write optimizer.lr"},
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
    {"per_device_train_batch_size", "write train_micro_batch_size_per_gpu"},
    {"per_device_eval_batch_size", "write evaluation.micro_batch_size"},
    {"num_train_epochs", "write run.epochs"},
    {"max_steps", "write run.steps"},
    {"max_grad_norm", "write gradient_clipping"},
    {"warmup_steps", "write scheduler.warmup_num_steps"},
    {"logging_steps", "write run.log_interval"},
    {"eval_steps", "write evaluation.interval"},
    {"save_steps", "write checkpoint.interval"},
    {"output_dir", "write run.output"},
    {"gradient_checkpointing", "write activation_checkpointing.recompute = \"full\""},
    {"mixed_precision", "write bf16.enabled = true or fp16.enabled = true"},
    {"zero_stage", "write zero.stage"},
    {"offload_optimizer_device", "write zero.offload_optimizer.device"},
    {"offload_param_device", "write zero.offload_param.device"},
    {"num_processes", "mpirun or srun says how many ranks run; remove it"},
};

/// Sections of DeepSpeed that have a shorter name here.
constexpr std::pair<std::string_view, std::string_view> kSections[] = {
    {"zero_optimization", "zero"},
    {"optimizer.params", "optimizer"},
    {"scheduler.params", "scheduler"},
    {"bfloat16", "bf16"},
};

bool lies_in(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

}  // namespace

std::string key_here(std::string_view key) {
  for (const auto& [there, here] : kSections) {
    if (lies_in(key, there)) return std::string(here) + std::string(key.substr(there.size()));
  }
  return std::string(key);
}

std::string_view habit_advice(std::string_view key) {
  for (const Habit& habit : kHabits) {
    if (lies_in(key, habit.key)) return habit.advice;
  }
  return "";
}

}  // namespace zero
