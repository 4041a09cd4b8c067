#pragma once

#include <cstdint>

#include "zero/config/schedule.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// The position in the data of the first sample of micro-batch `micro_batch` of a rank, in a step
/// before which so many were consumed: it is number micro_batch x ranks + rank of the step's
/// micro-batches.
int64_t first_position(const BatchSizes& batch, int ranks, int64_t consumed, int64_t micro_batch,
                       int rank);

/// The samples at positions [first, first + samples) into the inputs of the same names of a graph
/// of an engine's plan, wherever they lie.
void load_samples(state::Engine& engine, int32_t graph, const Dataset& data, int64_t first,
                  int64_t samples);

/// The step inputs of attempt `step`, and this rank's samples of it into the inputs of the plan's
/// training graph: steps after `done` draw the samples that follow on those which it has consumed.
struct BatchLoader {
  const Dataset& data;
  const BatchSizes& batch;
  uint64_t seed;
  DataCursor done = {};

  DataCursor before(int64_t step) const { return cursor_before(step, done, batch.train); }

  kernels::StepInputs inputs(int64_t step) const;
  void load(state::Engine& engine, int rank, int64_t step) const;
};

}  // namespace zero::train
