#include "src/config/import/translation.hpp"
#include "zero/config/model_table.hpp"

namespace zero {
namespace {

struct OfWidth {
  std::string_view key, how;
  int64_t (*value)(int64_t width);
};
constexpr OfWidth kOfWidth[] = {
    {"zero.reduce_bucket_size", "width^2", [](int64_t w) { return w * w; }},
    {"zero.stage3_prefetch_bucket_size", "0.9 width^2", [](int64_t w) { return w * w * 9 / 10; }},
    {"zero.stage3_param_persistence_threshold", "10 width", [](int64_t w) { return 10 * w; }},
};

struct OfTransformers {
  std::string_view key;
  TomlValue value;
};

/// Source: Transformers, TrainingArguments.
const OfTransformers kOfTransformers[] = {
    {"optimizer.lr", 5e-5},
    {"optimizer.betas", TomlArray{0.9, 0.999}},
    {"optimizer.eps", 1e-8},
    {"optimizer.weight_decay", 0.0},
    {"gradient_clipping", 1.0},
    {"scheduler.warmup_num_steps", int64_t(0)},
    {"train_micro_batch_size_per_gpu", int64_t(8)},
    {"fp16.enabled", false},
    {"bf16.enabled", false},
    {"activation_checkpointing.recompute", "none"},
    {"zero.stage3_gather_16bit_weights_on_model_save", false},
    {"run.epochs", int64_t(3)},
};

}  // namespace

std::optional<TomlValue> hf_default(std::string_view key) {
  for (const OfTransformers& usual : kOfTransformers) {
    if (usual.key == key) return usual.value;
  }
  return std::nullopt;
}

bool depends_on_width(std::string_view key) {
  for (const OfWidth& formula : kOfWidth) {
    if (formula.key == key) return true;
  }
  return false;
}

std::optional<Derived> derive_auto(std::string_view key, const RunConfig& config) {
  const int64_t width = model_numbers(config).count(kWidth);
  for (const OfWidth& formula : kOfWidth) {
    if (formula.key != key) continue;
    if (width == 0) return std::nullopt;
    return Derived{formula.value(width), std::string(formula.how)};
  }
  if (key == "scheduler.total_num_steps") return Derived{"auto", "run.steps"};
  if (key == "scheduler.warmup_max_lr") return Derived{"auto", "optimizer.lr"};
  if (key == "scheduler.warmup_min_lr") return Derived{0.0, "as Transformers"};
  if (key == "train_batch_size" || key == "gradient_accumulation_steps" ||
      key == "train_micro_batch_size_per_gpu") {
    return Derived{"auto", "train_batch_size = micro-batch x accumulation x ranks"};
  }
  return std::nullopt;
}

}  // namespace zero
