#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/io/checkpoint/store.hpp"
#include "zero/train/engine.hpp"

namespace zero::train {

/// What checkpoints of one launch say in words: see launch_facts().
using Facts = std::map<std::string, std::string>;

struct FactParts {
  const RunConfig& config;
  const Build& build;
  std::string configuration;  ///< the text of an input file
  std::string data;           ///< fingerprint
  std::string program;        ///< version
  int threads = 1;            ///< a rank
};
/// What is the same in every checkpoint of a launch: seed, stage, architecture, compute, optimizer,
/// tokenizer, data, arithmetic, configuration, build.
Facts launch_facts(const FactParts& parts);

/// Where a user finds checkpoints: in `folder` itself, in checkpoints/ of a run, or the one that
/// `folder` is.
struct CheckpointPlace {
  std::string root;
  std::optional<int64_t> step;
};
CheckpointPlace find_checkpoints(const std::string& folder);

/// The folder of a run's own checkpoints.
std::string checkpoint_root(const RunConfig& config);

/// A checkpoint that verifies.
struct Start {
  const checkpoint::Store* store;
  checkpoint::Manifest manifest;

  /// "runs/x/checkpoints/step00001200"
  std::string folder() const;
};

/// Saves the state of a run and finds it again: the commit protocol over all ranks, of which
/// checkpoint::Store is one process's part. What a rank holds is written by that rank; what it
/// needs it reads, at any number of ranks and any stage, in pieces of at most 4 MiB. Every public
/// function is collective.
class Checkpointer {
 public:
  /// Makes the folder and takes its lock (rank 0), and looks whether every rank sees it. `session`
  /// and `config` outlive it. Throws Ended: kInUse naming the holder, kIo; kUsage where
  /// checkpoint.resume is "never" and there are checkpoints.
  Checkpointer(Session& session, const RunConfig& config, Facts facts);

  /// The newest checkpoint that verifies, every digest of it checked by one of the ranks; else that
  /// of checkpoint.resume_from; else none. One warning for each that does not verify. Throws Ended,
  /// kNoCheckpoint, where there are checkpoints and none verifies, where none is and one is
  /// required, and where a newer release wrote it; kInput where it is of another architecture,
  /// tokenizer or data.
  std::optional<Start> find_start();

  /// Settings of the checkpoint that are others now and change what is computed.
  std::vector<std::string> changes(const Start& start) const;

  /// Fills the state that this rank holds. Newer folders that do not verify make way. Throws Ended.
  void load(const Start& start, Engine& engine);

  /// Saves the state after `step`, all updates applied; true when it is committed. False where that
  /// failed and checkpoint.max_failures allows it: one warning, nothing half-written stays. Throws
  /// Ended, kIo, where it does not.
  bool save(int64_t step, Engine& engine);

 private:
  struct Files;

  std::optional<Start> newest(const checkpoint::Store& store, std::vector<int64_t> steps);
  std::string verify(const checkpoint::Store& store, int64_t step, checkpoint::Manifest& manifest);
  void require_same_training(const Start& start);
  void commit(int64_t step, Engine& engine);
  std::vector<std::string> write_shards(const StateView& view);
  void publish(int64_t step, Engine& engine, const std::vector<std::string>& written);
  void retain();
  void give_up(const std::string& problem);
  void set_damaged_aside(const Start& start);
  void agree(const std::function<void()>& work);

  Session& session_;
  const RunConfig& config_;
  Facts facts_;
  std::unique_ptr<checkpoint::Store> store_, other_;
  std::string temporary_;  ///< of the save under way; "" if there is none
  int64_t failures_ = 0;
};

}  // namespace zero::train
