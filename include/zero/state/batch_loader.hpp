#pragma once

#include <cstdint>
#include <memory>

#include "zero/config/schedule.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/data/sample_thread.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {

/// Returns the position in the data of the first sample of micro-batch `micro_batch` of `rank`. It
/// is number request.number_of() of the step's micro-batches. The step begins after `consumed`
/// samples.
int64_t first_position(const BatchSizes& batch, const plan::Request& request, int64_t consumed,
                       int64_t micro_batch, int rank);

/// Loads the samples at positions [first, first + samples) of `data` into the engine. They go to
/// the inputs of the same names of `graph`, the index of a graph in its plan.
void load_samples(Engine& engine, int32_t graph, const Dataset& data, int64_t first,
                  int64_t samples);

/// A loader of step inputs, and of this rank's samples into the plan's training graph. Steps after
/// `done` draw the samples behind those that it has consumed.
struct BatchLoader {
  const Dataset& data;
  const BatchSizes& batch;
  uint64_t seed;
  DataCursor done = {};
  int64_t audit_interval = 0;  ///< steps between two audited ones; 0 = none is audited

  /// True if gradients of `step` are audited.
  bool audits(int64_t step) const { return audit_interval > 0 && step % audit_interval == 0; }
  /// Returns the position in the data before `step`.
  DataCursor before(int64_t step) const { return cursor_before(step, done, batch.train); }

  /// Returns the inputs of `step` beside its samples, such as seed and counted tokens.
  kernels::StepInputs inputs(int64_t step) const;
  /// Loads the samples of `rank` in `step` into the engine's training graph.
  void load(Engine& engine, int rank, int64_t step) const;
};

/// A loader of the rows of steps, and of audits, which it reads while the step before computes.
/// Takes the memory of a step's rows once. A step allocates nothing.
class StepLoader {
 public:
  /// Loads into `engine` the rows of `rank`. REQUIRES: `loader` and `engine` outlive it.
  StepLoader(const BatchLoader& loader, Engine& engine, int rank);
  ~StepLoader();

  /// Loads the rows of a step into the plan's training graph. Blocks until they are read, and reads
  /// them itself if they are not those of begin(). Throws what reading throws. If the step is
  /// audited, also loads the first micro-batch of the next rank, for plan::kAudit.
  void load(int64_t step);
  /// Loads the first micro-batch of the rank that is `distance` ahead, for plan::kAudit.
  void load_audit(int64_t step, int distance);
  /// Begins to read the rows of a step for the next load().
  void begin(int64_t step) { ahead_.begin(step); }

 private:
  struct Room;

  void read(int64_t step);
  void read_audit(int64_t step, int distance);
  void send();

  const BatchLoader& loader_;
  Engine& engine_;
  int rank_;
  std::unique_ptr<Room> room_;
  SampleThread ahead_;  ///< ends first
};

}  // namespace zero::state
