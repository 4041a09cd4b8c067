#include "zero/config/batch.hpp"

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

std::string equation(const RunConfig& c, int64_t ranks) {
  const auto value = [](int64_t n) { return n ? std::to_string(n) : std::string("auto"); };
  return text("train_batch_size = ", value(c.train_batch_size),
              ", train_micro_batch_size_per_gpu = ", value(c.train_micro_batch_size_per_gpu),
              ", gradient_accumulation_steps = ", value(c.gradient_accumulation_steps), " on ",
              counted(ranks, "rank"));
}

[[noreturn]] void refuse_batch(const RunConfig& c, int64_t ranks, const std::string& advice) {
  refuse_settings(
      {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"},
      equation(c, ranks), ": train = micro x accumulation x ranks does not hold; ", advice);
}

/// total / part, which must be whole.
int64_t divide(const RunConfig& c, int64_t ranks, int64_t part) {
  const int64_t below = c.train_batch_size / part * part, above = below + part;
  if (c.train_batch_size % part != 0) {
    refuse_batch(
        c, ranks,
        text("write train_batch_size = ", below ? below : above, below ? text(" or ", above) : ""));
  }
  return c.train_batch_size / part;
}

BatchSizes infer(const RunConfig& c, int64_t ranks) {
  const int64_t micro = c.train_micro_batch_size_per_gpu;
  const int64_t accumulation = c.gradient_accumulation_steps;
  if (c.train_batch_size == 0) {
    const int64_t steps = accumulation ? accumulation : 1;
    return {micro * steps * ranks, micro, steps};
  }
  if (micro && accumulation) {
    const int64_t product = micro * accumulation * ranks;
    if (product != c.train_batch_size) {
      refuse_batch(c, ranks,
                   text("write train_batch_size = ", product,
                        ", or \"auto\" for one of "
                        "the three"));
    }
    return {product, micro, accumulation};
  }
  if (micro) return {c.train_batch_size, micro, divide(c, ranks, micro * ranks)};
  const int64_t steps = accumulation ? accumulation : 1;
  return {c.train_batch_size, divide(c, ranks, steps * ranks), steps};
}

/// As many of either as the keys themselves may say.
constexpr int64_t kMostOfBatch = 1'000'000;

BatchSizes within_bounds(const RunConfig& c, int64_t ranks, const BatchSizes& batch) {
  const bool many = batch.accumulation > kMostOfBatch;
  if (!many && batch.micro <= kMostOfBatch) return batch;
  refuse_settings(
      {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"},
      equation(c, ranks), ": ",
      many ? text("a step of ", batch.accumulation, " micro-batches")
           : text("a micro-batch of ", batch.micro, " samples"),
      ", and the most are ", kMostOfBatch, "; write ",
      many ? "a larger train_micro_batch_size_per_gpu or " : "gradient_accumulation_steps or ",
      "a smaller train_batch_size");
}

}  // namespace

BatchSizes resolve_batch(const RunConfig& config, int64_t ranks) {
  ZERO_REQUIRE(ranks >= 1, ranks, " ranks");
  if (config.train_batch_size == 0 && config.train_micro_batch_size_per_gpu == 0) {
    refuse_settings(
        {"train_micro_batch_size_per_gpu", "train_batch_size"}, equation(config, ranks),
        ": the batch has no size; write train_micro_batch_size_per_gpu = 1, or train_batch_size");
  }
  if (config.train_micro_batch_size_per_gpu == kMicroBatchMax) {
    refuse_settings({"train_micro_batch_size_per_gpu"},
                    "\"max\" depends on a machine, known to training and plan alone; write "
                    "the number that zeroapp plan INPUT --max-batch prints");
  }
  return within_bounds(config, ranks, infer(config, ranks));
}

}  // namespace zero
