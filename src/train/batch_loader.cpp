#include "zero/train/batch_loader.hpp"

namespace zero::train {
namespace {

/// Calls fill(all) with all of two buffers of an engine's plan, wherever they lie.
template <class Fill>
void fill_inputs(Engine& engine, const BatchPlaces& places, const Fill& fill) {
  run::Executor& executor = engine.executor();
  const auto numel = [&](int32_t buffer) {
    return engine.plan().buffers[size_t(buffer)].bytes / int64_t(sizeof(int32_t));
  };
  executor.fill<int32_t>(places.tokens, numel(places.tokens), [&](std::span<int32_t> tokens) {
    executor.fill<int32_t>(places.targets, numel(places.targets), [&](std::span<int32_t> targets) {
      fill({.tokens = tokens, .targets = targets});
    });
  });
}

}  // namespace

void read_samples(const TokenWindows& data, int64_t first, int64_t samples,
                  const BatchBuffers& buffers) {
  const size_t length = size_t(data.sequence_length());
  for (int64_t i = 0; i < samples; ++i) {
    data.read(first + i, buffers.tokens.subspan(size_t(i) * length, length),
              buffers.targets.subspan(size_t(i) * length, length));
  }
}

int64_t first_position(const BatchSizes& batch, int ranks, int64_t consumed, int64_t micro_batch,
                       int rank) {
  return consumed + (micro_batch * ranks + rank) * batch.micro;
}

kernels::StepInputs BatchLoader::inputs(int64_t step) const {
  const int64_t first = before(step).samples;
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
  const int64_t consumed = before(step).samples;
  const int64_t stride = plan.input_stride / int64_t(sizeof(int32_t));
  fill_inputs(
      engine, {.tokens = plan.tokens, .targets = plan.targets}, [&](const BatchBuffers& all) {
        for (int64_t j = 0; j < plan.request.micro_batches; ++j) {
          const int64_t first = first_position(batch, plan.request.ranks, consumed, j, rank);
          read_samples(data, first, batch.micro,
                       {.tokens = all.tokens.subspan(size_t(j * stride), size_t(stride)),
                        .targets = all.targets.subspan(size_t(j * stride), size_t(stride))});
        }
      });
}

void load_samples(Engine& engine, const BatchPlaces& places, const TokenWindows& data,
                  int64_t first, int64_t samples) {
  fill_inputs(engine, places, [&](const BatchBuffers& all) {
    read_samples(data, first, samples, {.tokens = all.tokens, .targets = all.targets});
  });
}

}  // namespace zero::train
