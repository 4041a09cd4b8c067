#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/launch/stop.hpp"
#include "zero/state/engine.hpp"
#include "zero/train/batch_loader.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::train {

/// What became of one attempt, and what it took. Evaluations and checkpoints take none of its time,
/// nor does the update that one of them, or the end of the run, could not leave to a next attempt.
struct StepRecord {
  kernels::StepReport report{};
  int64_t tokens = 0;          ///< of all ranks
  double seconds = 0;          ///< of the wall from its begin to the next: loading its batch, the
                               ///< update of the step before and its log line, its forward and
                               ///< backward, the ranks' vote
  double exposed_seconds = 0;  ///< compute waited for other lanes
  run::PhaseSeconds phases{};  ///< of this rank's lanes
  int64_t device_bytes_peak = -1;  ///< the most so far in use on this rank's device, by all that
                                   ///< use it; -1: the device is the host
};

/// How a run ended.
struct Outcome {
  int64_t steps = 0;            ///< attempts made by all launches
  int64_t saved = 0;            ///< the last step with a committed checkpoint; 0: none
  std::string stopped_by = {};  ///< what cut it short: "SIGTERM", "run.walltime", "the
                                ///< job's end", "stop_now"; or ""
  std::optional<state::Evaluation> evaluation;  ///< the last one
  bool out_of_patience = false;                 ///< checkpoint.patience has ended the training
};

/// Hears on every rank what a step and an evaluation have come to.
class Observer {
 public:
  virtual void on_step(const StepRecord& record) = 0;
  virtual void on_evaluation(const state::Evaluation& evaluation) = 0;

 protected:
  ~Observer() = default;
};

/// What saves the state of a run. A run uses save::Checkpointer, whose functions of these names say
/// more; a test may have less. Every function is collective.
class Saver {
 public:
  virtual void save(const DataCursor& done) = 0;
  virtual int64_t committed(bool waits) = 0;
  virtual std::optional<state::Evaluation> load_best(int64_t last_step) = 0;
  virtual bool is_out_of_patience() const = 0;

 protected:
  ~Saver() = default;
};

/// The steps of a run.
class Trainer {
 public:
  /// All that is named here outlives the trainer.
  struct Parts {
    launch::Session& session;
    const RunConfig& config;
    const state::Build& build;
    const DataSets& data;
    state::Engine& engine;
    launch::TimeLimit time_limit;
    Observer& observer;
    Saver* saver = nullptr;              ///< null: nothing is saved
    DataCursor done = {};                ///< the steps that the state in the engine has taken
    launch::UserRequests requests = {};  ///< of rank 0
    /// What the weights after a step answer to the validation set; none where that is not asked
    /// for. Collective.
    std::function<state::Evaluation::Texts(int64_t step)> answers = {};
  };
  explicit Trainer(Parts parts);

  /// Ends after last_step() or when the saver is out of patience. Also ends at the step boundary
  /// after a signal on any rank or a request, and before the time limit of any. All updates are
  /// then applied, and the state is saved. The weights are then those of the best evaluation if
  /// that is asked for. Throws Ended, kNumerics, when training has broken down; any other error is
  /// this rank's alone, in the middle of communication. Collective.
  Outcome run();

 private:
  using Clock = std::chrono::steady_clock;

  int32_t vote();
  void attempt(int64_t step);
  void time_pending();
  void finish();
  void leave_step(int64_t step, int32_t vote);
  void end(int64_t step, bool cut);
  void evaluate_weights(int64_t step);
  bool is_out_of_patience() const;
  void complete_weights(int64_t step);
  void save(int64_t step);
  void hear_of_saves(bool waits);
  void load_best(int64_t step);
  void settle(int64_t gradients_step);
  bool is_evaluation_due(int64_t step) const;
  bool is_save_due(int64_t step) const;
  kernels::StepInputs with_pending(kernels::StepInputs inputs) const;

  Parts parts_;
  BatchLoader loader_;
  std::optional<StepRecord> pending_;  ///< its gradients wait for the next decision
  Clock::time_point begun_{};          ///< when that attempt did
  std::optional<state::Evaluation> evaluation_;
  int64_t saved_;  ///< the last step that is known to be committed
  int64_t device_bytes_peak_ = -1;
};

/// The first tensor, in the order of units, whose gradient on this rank holds an infinity or a NaN:
/// "wte.weight, element 17"; "" if there is none. Judged as the optimizer reads it: of the last
/// attempt, after the rounding that the plan asks for.
std::string first_nonfinite_gradient(const state::StateView& view);

/// What was decided about one attempt.
struct Decided {
  kernels::StepReport report;
  int64_t gradients_step;  ///< the attempt whose gradients are in memory by now
};

/// Throws Ended, kNumerics, on every rank when fp16 overflowed at the lowest loss scale, or when
/// more than numerics.max_bad_steps attempts in a row were skipped under a constant one. The line
/// names the first broken tensor and its rank, and the attempt it was seen in where that is a later
/// one. Collective where it throws.
void check_health(launch::Session& session, state::Engine& engine, const RunConfig& config,
                  const Decided& decided);

}  // namespace zero::train
