#include "src/config/import/derive.hpp"

#include "zero/config/model_sizes.hpp"

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

}  // namespace

bool depends_on_width(std::string_view key) {
  for (const OfWidth& formula : kOfWidth) {
    if (formula.key == key) return true;
  }
  return false;
}

std::optional<Derived> derive_auto(std::string_view key, const RunConfig& config) {
  const int64_t width = model_size(config).width;
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
