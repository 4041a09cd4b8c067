#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "zero/save/checkpointer.hpp"
#include "zero/state/engine.hpp"
#include "zero/train/run.hpp"

namespace zero::train {

/// The run that is run again.
struct RerunOf {
  std::string folder;      ///< of the run
  std::string checkpoint;  ///< folder of the step to begin after
  int64_t ranks = 1;       ///< ranks of the launch, which decide the batch that is left open
};

/// A run's training at one of its checkpoints, on any ranks. It takes the steps that follow, in
/// memory alone: it writes nothing into the run's folder, evaluates nothing and saves nothing.
class Rerun {
 public:
  /// Reads the settings order.input, plans, opens the data and loads of.checkpoint. Throws Ended as
  /// train::run(); kNoCheckpoint if the checkpoint does not verify; kInput if the run's prepared
  /// data are gone. Collective. REQUIRES: `session` and `order` outlive it.
  Rerun(launch::Session& session, const Order& order, const RerunOf& of);
  ~Rerun();
  Rerun(const Rerun&) = delete;
  Rerun& operator=(const Rerun&) = delete;

  /// Returns the last step whose update the state has.
  int64_t done() const { return done_; }
  /// Takes the next step and applies its update, unless it `rejects` it as the run did. Returns its
  /// result. Collective.
  kernels::StepReport step(bool rejects = false);
  /// Loads another checkpoint of the run. Throws Ended as the constructor. Collective.
  void load(const std::string& checkpoint);

  state::Engine& engine();
  const RunConfig& config() const;
  /// Returns the facts of the checkpoint.
  const save::Facts& saved_facts() const;
  /// Returns the settings that changed since a checkpoint with these facts, as
  /// Checkpointer::changes().
  std::vector<std::string> changes(const save::Facts& saved) const;
  /// Returns a note if no two runs from the checkpoint have the same bytes; else "".
  std::string bytes_note() const;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
  int64_t done_ = 0;
};

}  // namespace zero::train
