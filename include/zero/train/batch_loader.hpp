#pragma once

#include <cstdint>
#include <span>

#include "zero/config/steps.hpp"
#include "zero/io/data/token_windows.hpp"
#include "zero/train/engine.hpp"

namespace zero::train {

/// Host buffers of one micro-batch, [samples * T] each.
struct BatchBuffers {
  std::span<int32_t> tokens, targets;
};

/// Reads the samples at positions [first, first + samples).
void read_samples(const TokenWindows& data, int64_t first, int64_t samples,
                  const BatchBuffers& buffers);

/// Places in a plan of the tokens and targets of one micro-batch.
struct BatchPlaces {
  int32_t tokens, targets;
};

/// The same into the buffers of an engine's plan, wherever they lie.
void load_samples(Engine& engine, const BatchPlaces& places, const TokenWindows& data,
                  int64_t first, int64_t samples);

/// The position in the data of the first sample of micro-batch `micro_batch` of a rank, in a step
/// before which so many were consumed: it is number micro_batch x ranks + rank of the step's
/// micro-batches.
int64_t first_position(const BatchSizes& batch, int ranks, int64_t consumed, int64_t micro_batch,
                       int rank);

/// The step inputs of attempt `step`, and this rank's samples of it into the plan's token
/// buffers: steps after `done` draw the samples that follow on those which it has consumed.
struct BatchLoader {
  const TokenWindows& data;
  const BatchSizes& batch;
  uint64_t seed;
  DataCursor done = {};

  DataCursor before(int64_t step) const { return cursor_before(step, done, batch.train); }

  kernels::StepInputs inputs(int64_t step) const;
  void load(Engine& engine, int rank, int64_t step) const;
};

}  // namespace zero::train
