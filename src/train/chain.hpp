#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/command_line.hpp"
#include "zero/advise/disk_outlook.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/launch/console.hpp"
#include "zero/launch/job_end.hpp"
#include "zero/models/sampler.hpp"
#include "zero/models/stored_model.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/train/data_watch.hpp"
#include "zero/train/run_folder.hpp"
#include "zero/train/run_log.hpp"
#include "zero/train/trainer.hpp"

namespace zero::commands {

/// One run of the program on one rank, from the input file to the summary. The public functions are
/// its steps, called in this order on every rank; each is collective.
class Run {
 public:
  using Clock = launch::TimeLimit::Clock;

  /// `session` and `line` outlive it; the program began at `start`.
  Run(launch::Session& session, const CommandLine& line, Clock::time_point start)
      : session_(session), line_(line), start_(start), console_(session.is_first()) {}

  void read_input();
  void compile_plan();
  void open_data_sets();
  void open_folder();
  /// The checkpoint to go on from, if there is one.
  void find_start();
  void open_initial_weights();
  /// Whether an earlier launch has reached the last step already; then it says so.
  bool is_finished();
  /// Whether a signal has come to any rank, before the first step; then it says so.
  bool is_stopped();
  /// The folder of the run, memory, communicators, and the state that it begins with.
  void begin();
  void introduce();
  void train_steps();
  void report();
  void export_model();
  /// Throws Ended, kIo, where the last step is not saved: checkpoint.max_failures lets a run go on,
  /// not its work be lost without a word.
  void require_saved();
  void end();
  /// kRequeue where something else than the run or its user has ended it, with a checkpoint to go
  /// on from or before its first step.
  Exit exit_status() const;

 private:
  plan::Machine machine();
  void place(const state::Team& team, const advise::MemoryLimit& limit,
             const plan::Machine& machine);
  bool begins_anew() const;
  void count_from_start();
  bool has_ended();
  std::vector<std::string> left_by_an_end() const;
  bool exports_model() const;
  void require_same_data();
  void begin_launch();
  void record_launch();
  void load_start();
  void load_newest_whole();
  bool is_stuck();
  void take_older_start(const std::string& why);
  void introduce_start();
  std::string start_text() const;
  void make_engine();
  void load_initial_weights();
  std::optional<train::Trainer::Parts::Saves> saves();
  int64_t done() const { return cursor_.steps; }
  void resolve_length();
  save::Facts facts() const;
  bool is_of_this_batch(const DataCursor& done) const;
  std::string limit_text() const;
  launch::TimeLimit time_limit() const;
  train::LogContext log_context(double peak_flops) const;
  void write_file(const std::string& name, const std::string& content) const;
  void tell_of_disk(double compute_seconds);
  /// Whether samples can be written at the end is known before the first step.
  void prepare_samples();
  models::SampleOptions sample_options() const;
  void write_samples();
  std::string ending() const;
  void tell_launch() const;
  std::string how_to_go_on() const;
  void say(const std::string& text) { console_.say(text); }
  void enter(launch::Stage stage) { session_.lookout().enter(stage); }

  launch::Session& session_;
  const CommandLine& line_;
  const Clock::time_point start_;
  launch::Console console_;
  ConfigInput input_;
  RunConfig config_;
  state::Build build_;
  state::DiskSettings disk_;
  advise::DiskOutlook outlook_;
  advise::PlanReport plan_;
  std::string largest_;     ///< what "max" has become
  std::string homes_;       ///< likewise "auto"
  std::string rates_text_;  ///< of run.machine; "" where it names none
  DataSets data_;
  advise::MemoryLimit limit_;                    ///< of a rank, the least of all
  std::unique_ptr<Tokenizer> sample_tokenizer_;  ///< of evaluation.show_samples
  std::string samples_text_;
  std::string fingerprint_;  ///< of the data, on the first rank of each node
  std::optional<train::DataWatch> watch_;
  bool has_warned_of_data_ = false;
  std::optional<train::RunFolder> folder_;
  std::optional<save::Checkpointer> checkpointer_;
  std::optional<save::Start> start_from_;
  DataCursor cursor_;                             ///< of start_from_
  bool other_batches_ = false;                    ///< were in a checkpoint that was looked at
  std::unique_ptr<models::StoredModel> initial_;  ///< of model.init_from, until they are loaded
  launch::Requests requests_;
  std::optional<launch::JobEnd> job_end_;  ///< on the first rank, where no run.walltime is given
  int64_t said_committed_ = 0;
  std::vector<float> rates_;
  std::optional<state::Engine> engine_;
  std::optional<train::RunLog> log_;
  train::Outcome outcome_;
  int64_t peak_pss_ = 0;
  double start_seconds_ = 0, evaluation_seconds_ = 0;
};

}  // namespace zero::commands
