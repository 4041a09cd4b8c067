#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/stop.hpp"
#include "zero/monitor/step_record.hpp"
#include "zero/state/auditor.hpp"
#include "zero/state/batch_loader.hpp"
#include "zero/state/engine.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::train {

/// The end of a run.
struct Outcome {
  int64_t steps = 0;            ///< attempts made by all launches
  int64_t saved = 0;            ///< last step with a committed checkpoint; 0 = none
  std::string stopped_by = {};  ///< cause of an early stop: "SIGTERM", "run.walltime", "the job's
                                ///< end", "stop_now"; or ""
  std::optional<state::Evaluation> evaluation;  ///< last evaluation
  bool out_of_patience = false;                 ///< true if checkpoint.patience ended the training
};

/// A receiver of each step and evaluation, on every rank.
class Observer {
 public:
  virtual void on_step(const monitor::StepRecord& record) = 0;
  virtual void on_evaluation(const state::Evaluation& evaluation) = 0;
  /// Takes the times of all ranks in a step, by rank. The last step of a launch is not told.
  virtual void on_ranks(int64_t step, std::span<const launch::Ballot> ranks) = 0;

 protected:
  ~Observer() = default;
};

/// A saver of a run's state. Runs use save::Checkpointer, which documents these functions; a test
/// may do less. Every function but is_out_of_patience() is collective.
class Saver {
 public:
  virtual void save(const DataCursor& done) = 0;
  virtual int64_t committed(bool waits) = 0;
  virtual std::optional<state::Evaluation> load_best(int64_t last_step) = 0;
  virtual bool is_out_of_patience() const = 0;

 protected:
  ~Saver() = default;
};

/// The loop over a run's steps.
class Trainer {
 public:
  /// The parts of a trainer. REQUIRES: all referenced objects outlive it.
  struct Parts {
    launch::Session& session;
    const RunConfig& config;
    const setup::Build& build;
    const DataSets& data;
    state::Engine& engine;
    launch::TimeLimit time_limit;
    Observer& observer;
    Saver* saver = nullptr;              ///< null = nothing is saved
    DataCursor done = {};                ///< steps that the engine's state has taken
    launch::UserRequests requests = {};  ///< requests on rank 0
    /// Answers the validation set, or scores texts, and adds the metrics to an evaluation; empty if
    /// not asked for. Collective.
    std::function<void(state::Evaluation&)> answers = {};
    /// Takes the digests of the state after a step; empty if not asked for. Collective.
    std::function<void(int64_t step)> digests = {};
  };
  /// Takes the memory of evaluations. Throws as Evaluator. Collective.
  explicit Trainer(Parts parts);

  /// Runs to last_step() or until the saver is out of patience. Stops sooner at a step boundary:
  /// after a signal on any rank or a request, or ahead of any time limit. Then applies all updates
  /// and saves the state. Unless stopped, loads the best evaluation's weights if asked for. Throws
  /// Ended, kNumerics, when training has broken down, and kDevice if an audit finds a fault and
  /// run.audit is "stop". Any other error is this rank's alone, in the middle of communication.
  /// Collective.
  Outcome run();

 private:
  using Clock = std::chrono::steady_clock;

  launch::Ballot ballot();
  int32_t vote();
  void attempt(int64_t step);
  void audit(int64_t step);
  void time_pending();
  void finish();
  void leave_step(int64_t step, int32_t vote);
  void end(int64_t step, bool cut);
  void evaluate_weights(int64_t step);
  bool is_out_of_patience() const;
  void complete_weights(int64_t step);
  void take_digests(int64_t step);
  void save(int64_t step);
  void hear_of_saves(bool waits);
  void load_best(int64_t step);
  void settle(int64_t gradients_step);
  bool is_evaluation_due(int64_t step) const;
  bool is_save_due(int64_t step) const;
  kernels::StepInputs with_pending(kernels::StepInputs inputs) const;

  Parts parts_;
  state::BatchLoader loader_;
  state::StepLoader rows_;
  std::optional<state::Auditor> auditor_;       ///< empty without audits
  std::optional<Evaluator> evaluator_;          ///< empty without validation data
  std::optional<monitor::StepRecord> pending_;  ///< gradients await the next decision
  Clock::time_point begun_{};                   ///< start of the pending attempt
  std::optional<state::Evaluation> evaluation_;
  int64_t saved_;     ///< last step known to be committed
  int64_t digested_;  ///< last step with digests, or that earlier launches took
  int64_t device_bytes_peak_ = -1;
  launch::Ballot times_;  ///< of the last attempt, for the next vote
};

/// Returns the first tensor, in the order of units, with an infinite or NaN gradient on this rank:
/// "wte.weight, element 17"; "" if there is none. Reads the last attempt's gradient as the
/// optimizer does, after the rounding that the plan asks for.
std::string first_nonfinite_gradient(const state::StateView& view);

/// The decision about one attempt.
struct Decided {
  kernels::StepReport report;
  int64_t gradients_step;  ///< attempt whose gradients are in memory now
};

/// Throws Ended, kNumerics, on every rank if fp16 overflowed at the lowest loss scale. Throws
/// likewise if more than numerics.max_bad_steps attempts in a row were skipped under a constant
/// scale. The line names the first broken tensor, its rank, and the attempt of these gradients if
/// it is a later one. Collective if it throws.
void check_health(launch::Session& session, state::Engine& engine, const RunConfig& config,
                  const Decided& decided);

}  // namespace zero::train
