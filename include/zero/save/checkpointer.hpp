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
#include "zero/state/evaluation.hpp"

namespace zero::save {

/// The facts in the checkpoints of one launch: see launch_facts().
using Facts = std::map<std::string, std::string>;

struct FactParts {
  const RunConfig& config;
  const setup::Build& build;
  std::string configuration;  ///< text of an input file
  std::string description;    ///< description_json()
  std::string generation;     ///< generation_config.json that completes [generation]; "" = none
  std::vector<std::string> classes = {};  ///< names of labels; empty = none
  std::string lent = {};                  ///< digest of borrowed weights; "" = none
  std::string data;                       ///< fingerprint of the data
  std::string program;                    ///< version
  int threads = 1;                        ///< threads of each rank
};
/// Returns the facts that all checkpoints of a launch share: seed, stage, architecture, compute,
/// optimizer, tokenizer, data, arithmetic, configuration, build.
Facts launch_facts(const FactParts& parts);

/// The folder of a user's checkpoints, and the step if the user means one of them.
struct CheckpointFolder {
  std::string root = {};
  std::optional<int64_t> step = {};
};
/// Returns the checkpoints that a user means by `folder`: those in it, those of a run, or the step
/// that it is. Throws Error(exit) if it may not look there.
CheckpointFolder find_checkpoints(const std::string& folder, Exit exit = Exit::kInput);

/// Returns the folder of the own checkpoints of a run of `config`.
std::string checkpoint_root(const RunConfig& config);

/// Returns the setting to write so that a run begins anew and keeps its checkpoints. resume =
/// "never" works only if the run's folder makes way, with the checkpoints in it.
std::string to_begin_anew(const RunConfig& config);

/// Returns the steps and samples that a checkpoint's training has taken, from its manifest. A
/// checkpoint without a count of samples has its configuration's batch in each step. Throws
/// Error(kInput) naming `folder`, the checkpoint's.
DataCursor cursor_of(const checkpoint::Manifest& manifest, const std::string& folder);

/// A failed save.
struct SaveFault {
  std::string what = {};    ///< fault and rank; "" for none
  std::string blamed = {};  ///< the node at fault, if rank 0's has no such fault; else ""
};

/// A checkpoint to go on from.
struct Start {
  const checkpoint::Store* store;
  checkpoint::Manifest manifest;
  std::string note = {};  ///< reason for its choice, if that is a streak of skipped steps
  /// True in a skipped streak that new settings may end. The first step decides.
  bool on_trial = false;

  /// Returns the checkpoint's folder: "runs/x/checkpoints/step00001200".
  std::string folder() const;
};

/// A count of evaluations no better than an earlier one, which may not have been saved.
struct Patience {
  double merit = 0;          ///< score of the best one
  int64_t evaluations = -1;  ///< evaluations after the best; -1 before the first
  int64_t step = 0;          ///< step of the last one

  /// Counts the evaluation after step `of_step`, with the score `other`. A repeated one, from a
  /// launch whose end is made good, counts once. A score of NaN is no better than any.
  void hear(int64_t of_step, double other);
};

struct KeptOfSaves;
struct Problem;
struct StreakMark;
struct StreakRecord;

/// A writer and reader of a run's state: the commit protocol over all ranks, of which
/// checkpoint::Store is one process's part. Each rank writes what it holds and reads what it needs,
/// at any rank count and stage, in pieces of at most 4 MiB. Public functions are collective unless
/// they say otherwise.
class Checkpointer {
 public:
  /// Makes the folder checkpoint_root(config) and locks it (rank 0). Tests that every rank can
  /// write into it, and warns if its disk lacks room for checkpoint.keep. Throws Ended: kInUse
  /// naming the holder; kIo naming the rank; kUsage if checkpoint.resume is "never" and checkpoints
  /// exist, or if manifests would be too long to read. `facts` go into all checkpoints. REQUIRES:
  /// `session` and `plan` outlive it.
  Checkpointer(launch::Session& session, const RunConfig& config, const plan::Plan& plan,
               Facts facts);
  /// A reader alone, which makes no folder and no lock. REQUIRES: checkpoint.resume_from names a
  /// checkpoint, checkpoint.resume is "require", and find_start(), load() and the notes of a start
  /// are all that is called.
  struct ReadsOnly {};
  Checkpointer(launch::Session& session, const RunConfig& config, const plan::Plan& plan,
               Facts facts, ReadsOnly);
  /// Waits for a save that is under way.
  ~Checkpointer();

  /// Returns the newest checkpoint that is not known to be damaged; if there is none, that of
  /// checkpoint.resume_from; else none. Its manifest verifies and its files exist. load() or
  /// verify() checks their content.
  /// If the newest one lies in a streak of skipped steps that would go on, returns the newest
  /// before the streak. If learning rate, clipping or data changed, and are not known to leave the
  /// streak going on, returns the newest itself, on trial.
  /// Throws Ended:
  ///  - kNoCheckpoint if checkpoints exist and none verifies;
  ///  - kNoCheckpoint if only `latest` is left of them;
  ///  - kNoCheckpoint if none exists and one is required;
  ///  - kNoCheckpoint if a newer release wrote it;
  ///  - kInput if it is of another architecture, tokenizer or data;
  ///  - as verify() does.
  std::optional<Start> find_start();

  /// True if every digest of a start verifies, each on one rank. Otherwise warns once, and
  /// find_start() returns the one before. Throws Ended: kNoCheckpoint if the newest is required;
  /// kIo if it could not be read, which says nothing of its content.
  bool verify(const Start& start) { return verify(start, nullptr); }

  /// Returns the result of verify(start) and fills this rank's state, the engine's, by the same
  /// reads. After false, the state is undefined. Newer folders that do not verify make way.
  bool load(const Start& start, state::Engine& engine);

  /// Records that a trial failed: the first step after `start` is skipped, too.
  void give_up(const Start& start);

  /// Replaces the settings by `config`, and the facts of checkpoints to come, if a start has
  /// changed them.
  void set_run(const RunConfig& config, Facts facts) {
    config_ = config;
    facts_ = std::move(facts);
  }

  /// Returns the settings that changed since the checkpoint of `start` and change computed numbers.
  std::vector<std::string> changes(const Start& start) const;
  /// Returns a note if going on from `start` gives other bytes each time; else "".
  std::string bytes_note(const Start& start) const;

  /// Ends all ranks with Exit::kDoesNotFit if the system would refuse a rank the memory that
  /// libraries take in a save. Collective. REQUIRES: all other memory of the run is taken.
  void require_room();

  /// Takes an evaluation, before a save of its step. The best one's checkpoint is kept if
  /// checkpoint.best_metric says so. The first evaluation in which that metric is undefined causes
  /// a warning; checkpoint.patience counts from the first that has it. Not collective.
  void note(const state::Evaluation& evaluation);
  /// Returns a warning if evaluations of this launch lacked checkpoint.best_metric and no
  /// evaluation had it; else "". Not collective.
  std::string lack_of_metric() const;

  /// True if checkpoint.patience evaluations were no better than one before them, including earlier
  /// launches. Not collective.
  bool is_out_of_patience() const;

  /// Saves the engine's state after the steps of `done`. Returns when it is committed or has
  /// failed. With checkpoint.async, returns when the last save has ended and the state is copied,
  /// its part on disk frozen there. Throws as committed(). REQUIRES: no body runs, and all updates
  /// are applied.
  void save(const DataCursor& done, state::Engine& engine);

  /// Returns the last step that this launch has committed; 0: none. With checkpoint.async, waits
  /// for the save under way if `waits`; else learns of it only if it has ended on every rank. A
  /// failed save causes one warning if checkpoint.max_failures allows it; else throws Ended, kIo.
  /// REQUIRES: no body runs.
  int64_t committed(bool waits);
  /// Returns the last failure, "the checkpoint of step 6 failed: ...", or "". Not collective.
  const std::string& last_failure() const { return problem_; }

  /// Fills the engine with a better checkpoint than that of `last_step`, if one is known, and
  /// returns its evaluation. Throws Ended, kNoCheckpoint, if it verifies no more.
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
  void conclude(const SaveFault& fault);
  void give_up();

  launch::Session& session_;
  RunConfig config_;
  const plan::Plan& plan_;
  Facts facts_;
  std::unique_ptr<checkpoint::Store> store_, other_;
  std::unique_ptr<KeptOfSaves> kept_;
  std::unique_ptr<Background> background_;  ///< with checkpoint.async
  int64_t saving_ = 0;                      ///< step of the save under way; 0: none
  int64_t committed_ = 0;
  int64_t failures_ = 0;
  std::string problem_;  ///< text of the last failure
  std::string blamed_;   ///< the node at fault, or ""
  std::optional<state::Evaluation> noted_, best_, best_if_saved_;
  bool lacks_metric_ = false;  ///< true once an evaluation of this launch lacked the best's metric
  Patience patience_;
  /// Problems of checkpoints that were passed over.
  std::map<std::pair<const checkpoint::Store*, int64_t>, std::string> damaged_;
  std::unique_ptr<StreakRecord> streaks_;
};

}  // namespace zero::save
