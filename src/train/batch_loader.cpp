#include "zero/train/batch_loader.hpp"

namespace zero::train {

void read_samples(const Dataset& data, int64_t first, int64_t samples,
                  const BatchBuffers& buffers) {
  const size_t length = size_t(data.sequence_length());
  for (int64_t i = 0; i < samples; ++i) {
    data.read(first + i, buffers.tokens.subspan(size_t(i) * length, length),
              buffers.targets.subspan(size_t(i) * length, length));
  }
}

int64_t first_position(const BatchSizes& batch, int ranks, int64_t step, int64_t micro_batch,
                       int rank) {
  return (step - 1) * batch.train + (micro_batch * ranks + rank) * batch.micro;
}

kernels::StepInputs BatchLoader::inputs(int64_t step) const {
  const int64_t first = (step - 1) * batch.train;
  return {.seed = seed,
          .step = step,
          .first_sample = first,
          .counted_tokens = data.counted(first, batch.train),
          .pending = 0,
          .reserved = 0,
          .pending_step = 0,
          .pending_tokens = 0};
}

void BatchLoader::load(Engine& engine, int rank, int64_t step) const {
  const plan::Plan& plan = engine.plan();
  for (size_t j = 0; j < plan.tokens.size(); ++j) {
    read_samples(data, first_position(batch, plan.request.ranks, step, int64_t(j), rank),
                 batch.micro,
                 {.tokens = engine.executor().values<int32_t>(plan.tokens[j]),
                  .targets = engine.executor().values<int32_t>(plan.targets[j])});
  }
}

}  // namespace zero::train
