#pragma once

#include <cstdint>
#include <memory>

#include "zero/config/schedule.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/run/read_ahead.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {

/// Returns the position in the data of the first sample of micro-batch `micro_batch` of `rank`. It
/// is number request.number_of() of the step's micro-batches. The step begins after `consumed`
/// samples.
int64_t first_position(const BatchSizes& batch, const plan::Request& request, int64_t consumed,
                       int64_t micro_batch, int rank);

/// Loads the samples at positions [first, first + samples) into the inputs of the same names of a
/// graph of the engine's plan.
void load_samples(Engine& engine, int32_t graph, const Dataset& data, int64_t first,
                  int64_t samples);

/// A loader of step inputs, and of this rank's samples into the plan's training graph. Steps after
/// `done` draw the samples behind those that it has consumed.
struct BatchLoader {
  const Dataset& data;
  const BatchSizes& batch;
  uint64_t seed;
  DataCursor done = {};

  DataCursor before(int64_t step) const { return cursor_before(step, done, batch.train); }

  kernels::StepInputs inputs(int64_t step) const;
  void load(Engine& engine, int rank, int64_t step) const;
};

/// A loader of the rows of steps, which it reads while the step before computes. Takes the memory
/// of a step's rows once. A step allocates nothing.
class StepLoader {
 public:
  /// REQUIRES: `loader` and `engine` outlive it.
  StepLoader(const BatchLoader& loader, Engine& engine, int rank);
  ~StepLoader();

  /// Loads the rows of a step into the plan's training graph. Blocks until they are read, and reads
  /// them itself if they are not those of begin(). Throws what reading throws.
  void load(int64_t step);
  /// Begins to read the rows of a step for the next load().
  void begin(int64_t step) { ahead_.begin(step); }

 private:
  struct Room;

  void read(int64_t step);

  const BatchLoader& loader_;
  Engine& engine_;
  int rank_;
  std::unique_ptr<Room> room_;
  run::ReadAhead ahead_;  ///< ends first
};

}  // namespace zero::state
