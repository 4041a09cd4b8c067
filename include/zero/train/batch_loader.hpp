#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "zero/config/schedule.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// Returns the position in the data of the first sample of micro-batch `micro_batch` of `rank`. It
/// is number micro_batch x ranks + rank of the step's micro-batches. The step begins after
/// `consumed` samples.
int64_t first_position(const BatchSizes& batch, int ranks, int64_t consumed, int64_t micro_batch,
                       int rank);

/// Loads the samples at positions [first, first + samples) into the inputs of the same names of a
/// graph of the engine's plan.
void load_samples(state::Engine& engine, int32_t graph, const Dataset& data, int64_t first,
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
  void load(state::Engine& engine, int rank, int64_t step) const;
};

/// A loader that reads the rows of the next step on a thread of its own, while a step computes. It
/// takes the memory of a step's rows once. A step allocates nothing.
class ReadAhead {
 public:
  /// REQUIRES: `loader` and `engine` outlive it.
  ReadAhead(const BatchLoader& loader, state::Engine& engine, int rank);
  /// Blocks until a read that has begun ends.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Loads the rows of a step into the plan's training graph. Blocks until they are read, and reads
  /// them itself if they are not those that begin() was given. Throws what reading throws.
  void load(int64_t step);
  /// Starts to read the rows of a step. Its errors come from load(). REQUIRES: a load() came since
  /// the last begin().
  void begin(int64_t step);

 private:
  struct State;

  void work();
  void read(int64_t step);
  bool wait_for(int64_t step);

  const BatchLoader& loader_;
  state::Engine& engine_;
  int rank_;
  std::unique_ptr<State> state_;
  std::thread thread_;
};

}  // namespace zero::train
