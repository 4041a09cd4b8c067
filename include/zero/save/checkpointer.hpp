#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zero/config/schedule.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/state/engine.hpp"

namespace zero::save {

/// What checkpoints of one launch say in words: see launch_facts().
using Facts = std::map<std::string, std::string>;

struct FactParts {
  const RunConfig& config;
  const state::Build& build;
  std::string configuration;  ///< the text of an input file
  std::string description;    ///< description_json()
  std::string generation;     ///< a generation_config.json that [generation] goes by; "" = none
  std::string data;           ///< fingerprint
  std::string program;        ///< version
  int threads = 1;            ///< a rank
};
/// What is the same in every checkpoint of a launch: seed, stage, architecture, compute, optimizer,
/// tokenizer, data, arithmetic, configuration, build.
Facts launch_facts(const FactParts& parts);

/// Where a user finds checkpoints: in `folder` itself, in checkpoints/ of a run, or the one that
/// `folder` is. Throws Error(exit) where it may not be looked at.
struct CheckpointFolder {
  std::string root = {};
  std::optional<int64_t> step = {};
};
CheckpointFolder find_checkpoints(const std::string& folder, Exit exit = Exit::kInput);

/// The folder of a run's own checkpoints.
std::string checkpoint_root(const RunConfig& config);

/// What to write so that a run begins anew and its checkpoints stay; resume = "never" does so only
/// where the run's folder makes way, with the checkpoints in it.
std::string to_begin_anew(const RunConfig& config);

/// How far the training of a checkpoint has come. Where its release did not say how many samples,
/// as many as the batch of its configuration makes in its steps. Throws Error(kInput) naming
/// `folder`.
DataCursor cursor_of(const checkpoint::Manifest& manifest, const std::string& folder);

/// A checkpoint to go on from.
struct Start {
  const checkpoint::Store* store;
  checkpoint::Manifest manifest;
  std::string note = {};  ///< why it is taken, where a streak of skipped steps is the reason
  /// The checkpoint lies in a skipped streak that new settings may end; its first step decides.
  bool on_trial = false;

  /// "runs/x/checkpoints/step00001200"
  std::string folder() const;
};

/// How long evaluations have been no better than an earlier one, which may not have been saved.
struct Patience {
  double merit = 0;          ///< of the best one
  int64_t evaluations = -1;  ///< after it; -1: there was none yet
  int64_t step = 0;          ///< of the last one

  /// Takes that of a step; one that was taken already, of a launch whose end is made good, counts
  /// once. A merit of NaN is no better than any.
  void hear(int64_t of_step, double other);
};

struct KeptOfSaves;
struct Problem;
struct StreakMark;
struct StreakRecord;

/// Saves the state of a run and finds it again: the commit protocol over all ranks, of which
/// checkpoint::Store is one process's part. What a rank holds is written by that rank; what it
/// needs it reads, at any number of ranks and any stage, in pieces of at most 4 MiB. Every public
/// function that does not say otherwise is collective.
class Checkpointer {
 public:
  /// Makes the folder and takes its lock (rank 0), tries whether every rank can write into the same
  /// one, and warns where its disk has no room for what checkpoint.keep keeps. All arguments
  /// outlive it. Throws Ended: kInUse naming the holder, kIo naming the rank; kUsage where
  /// checkpoint.resume is "never" and there are checkpoints, and where what it would save is too
  /// much to be read again.
  Checkpointer(launch::Session& session, const RunConfig& config, const plan::Plan& plan,
               Facts facts);
  /// Waits for a save that is under way.
  ~Checkpointer();

  /// Returns the newest checkpoint that is not known to be damaged; if there is none, that of
  /// checkpoint.resume_from; else none. Its manifest verifies and its files are there; load() or
  /// verify() finds out what is in them.
  /// If the newest one lies in a streak of skipped steps that more steps would be added to, the
  /// newest one before the streak is returned. If learning rate, clipping or data have changed, and
  /// are not known to leave the streak going on, it is the newest itself, on trial.
  /// Throws Ended:
  ///  - kNoCheckpoint where there are checkpoints and none verifies;
  ///  - kNoCheckpoint where `latest` is all that is left of them;
  ///  - kNoCheckpoint where there is none and one is required;
  ///  - kNoCheckpoint where a newer release wrote it;
  ///  - kInput where it is of another architecture, tokenizer or data;
  ///  - as verify() does.
  std::optional<Start> find_start();

  /// Whether a start verifies, every digest of it checked by one of the ranks. Where it does not,
  /// one warning says what is wrong, and find_start() tells the one before it. Throws Ended,
  /// kNoCheckpoint, where the newest is required; kIo where it could not be read, which says
  /// nothing of what it holds.
  bool verify(const Start& start) { return verify(start, nullptr); }

  /// As verify(), and fills the state that this rank holds by the same reads; where it does not
  /// verify what is held then is of no use. Newer folders that do not verify make way.
  bool load(const Start& start, state::Engine& engine);

  /// A trial has shown that the first step after this one is skipped, too.
  void give_up(const Start& start);

  /// What the checkpoints to come say of the launch, where a start has changed that.
  void set_facts(Facts facts) { facts_ = std::move(facts); }

  /// Settings of the checkpoint that are others now and change what is computed.
  std::vector<std::string> changes(const Start& start) const;
  /// A sentence where going on from there gives other bytes each time; else "".
  std::string bytes_note(const Start& start) const;

  /// Ends all ranks with Exit::kDoesNotFit where the system would refuse one of them what libraries
  /// take in a save. Once all other memory of a run is taken. Collective.
  void require_room();

  /// An evaluation, before its step is saved if it is: the best one's checkpoint is kept where
  /// checkpoint.best_metric says so. Not collective.
  void note(const state::Evaluation& evaluation);

  /// Whether so many evaluations as checkpoint.patience says were no better than one before them,
  /// those of earlier launches included. Not collective.
  bool is_out_of_patience() const;

  /// Saves the state after `done`, all updates applied. Returns when that is committed or has
  /// failed; with checkpoint.async when the save before it has ended and the state is copied, what
  /// of it is on disk frozen there. Between bodies. Throws as committed().
  void save(const DataCursor& done, state::Engine& engine);

  /// The last step that this launch has committed; 0: none. With checkpoint.async, between bodies,
  /// it hears of a save when that has ended on every rank, or waits for it. A save that failed
  /// gives one warning where checkpoint.max_failures allows it; else it throws Ended, kIo.
  int64_t committed(bool waits);
  /// In words, "the checkpoint of step 6 failed: ..."; "" where none has. Not collective.
  const std::string& last_failure() const { return problem_; }

  /// Where a better checkpoint than that of the last step is known: fills the engine with it and
  /// returns its evaluation. Throws Ended, kNoCheckpoint, where it does not verify any more.
  std::optional<state::Evaluation> load_best(int64_t last_step, state::Engine& engine);

 private:
  struct Background;

  std::vector<int64_t> shared_steps(const checkpoint::Store& store);
  std::optional<Start> newest(const checkpoint::Store& store, const std::vector<int64_t>& steps);
  std::string look_at(Start& start, int64_t step);
  bool verify(const Start& start, state::Engine* engine);
  std::string problem_of(const Start& start, state::Engine* engine);
  std::string damage_in(const Problem& problem);
  void pass_over(const checkpoint::Store& store, int64_t step, const std::string& problem);
  void open_store();
  void require_shared_folder();
  void warn_of_little_room();
  void require_same_training(const Start& start);
  void take_state(const Start& start, state::Engine& engine);
  void set_newer_aside(const Start& start);
  Start out_of_streak(Start newest, const std::vector<int64_t>& steps);
  std::optional<Start> start_before(const Start& newest, const std::vector<int64_t>& steps);
  std::optional<int64_t> healthy_beside(const StreakMark& saved);
  std::vector<StreakMark> marks_before(int64_t step) const;
  void conclude(const std::string& problem);
  void give_up();

  launch::Session& session_;
  const RunConfig& config_;
  const plan::Plan& plan_;
  Facts facts_;
  std::unique_ptr<checkpoint::Store> store_, other_;
  std::unique_ptr<KeptOfSaves> kept_;
  std::unique_ptr<Background> background_;  ///< of checkpoint.async
  int64_t saving_ = 0;                      ///< the step of the save under way; 0: none is
  int64_t committed_ = 0;
  int64_t failures_ = 0;
  std::string problem_;  ///< of the last of them
  std::optional<state::Evaluation> noted_, best_, best_if_saved_;
  Patience patience_;
  /// What is wrong with checkpoints that were passed over.
  std::map<std::pair<const checkpoint::Store*, int64_t>, std::string> damaged_;
  std::unique_ptr<StreakRecord> streaks_;
};

}  // namespace zero::save
