#pragma once
/// A run is a chain of values: Input, Planned, Data, Opened, Live, Outcome. Each is made from the
/// earlier ones. A later value completes an earlier one only if it alone knows the answer: the data
/// decide the length and the sample forms, the checkpoint sets the step and the generation
/// settings, the filled disk sets its rates. All constructors and functions are collective.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/train/data_watch.hpp"
#include "src/train/run_files.hpp"
#include "src/train/trainer.hpp"
#include "zero/advise/outlook.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/config/read_config.hpp"
#include "zero/launch/files.hpp"
#include "zero/launch/stop.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/sampler.hpp"
#include "zero/train/run.hpp"

namespace zero::train {

/// 1. The session, the order and the console of this run. Only the first rank prints.
struct Context {
  launch::Session& session;
  const Order& order;
  launch::Console console;

  void say(const std::string& text) { console.say(text); }
  void enter(launch::Milestone milestone) { session.lookout().enter(milestone); }
  /// Prints a warning on the first rank.
  void warn(const std::string& words) const;
};

/// 2. The settings of the run, read alike by every rank.
struct Input {
  explicit Input(Context& context);

  ConfigInput settings;
  std::unique_ptr<stored::StoredModel> start;  ///< model of model.init_from, if opened
};

/// 3. The communicators and the plan. Every rank compiles the plan to the same bytes, and it fits.
struct Planned {
  Planned(Context& context, Input input);
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  /// Fills in run.steps, counted on from `done`, and the learning rates.
  void resolve_length(Context& context, const DataSets& data, const DataCursor& done);
  /// Orders samples by length and compiles shorter forms, if data.length_buckets asks for it.
  void group_samples(Context& context, DataSets& data);
  bool is_saved() const { return setup::is_saved(config); }
  bool exports_model() const;
  /// Completes the open keys of [generation] by `under`, the settings of the model that the run
  /// began with.
  void complete_generation(Context& context, const GenerationConfig& under);
  /// Counts the memory of texts again if [generation] is not the one that the plan counted by.
  /// Throws Error(kDoesNotFit) without room.
  void count_texts(Context& context);
  /// True if samples of evaluation.show_samples answer sources of the validation set.
  bool samples_answer() const { return model::data_form(build.recipe.model).start >= 0; }
  /// Returns options for samples that answer no source.
  writing::SampleOptions sample_options(int threads) const;

  std::unique_ptr<stored::StoredModel> start;  ///< Input's model, until Opened takes it
  ConfigInput settings;  ///< settings for effective.toml: open ones stay open, with the choice
                         ///< noted
  RunConfig config;      ///< settings of this launch: none is open
  state::Communicators comms;  ///< made before `limit` is read, which counts their memory
  advise::MemoryLimit limit;   ///< per rank, the least of all ranks
  setup::Build build;
  advise::PlanReport report;  ///< made from `build`
  state::DiskHomes disk;
  advise::DiskOutlook outlook;
  GenerationConfig counted_by;  ///< the settings by which `build` counts texts
  std::vector<float> rates;     ///< learning rate of each update
  std::string rates_text;  ///< banner line on the rates that chose the plan; "" without run.machine
  std::string choices;     ///< banner lines: open settings and their choices

 private:
  plan::Machine machine(Context& context);
  void place(const setup::World& world, const plan::Machine& machine);
};

/// 4. The samples, checked to be alike on every rank.
struct Data {
  Data(Context& context, Planned& planned);

  /// Throws Ended, kInput, if files were written to or replaced by other data, because a checkpoint
  /// states the data of its consumed samples.
  void require_same(Context& context, const RunConfig& config, state::Engine& engine);

  DataSets sets;
  std::string fingerprint;  ///< on the first rank of each node; on all ranks of a saved run
  std::optional<DataWatch> watch;
  std::unique_ptr<Tokenizer> sample_tokenizer = {};  ///< for samples that answer no source
  std::unique_ptr<Tokenizer> answer_tokenizer = {};  ///< for evaluation.generate and samples that
                                                     ///< answer
  std::string samples_text = {};

 private:
  bool has_warned_ = false;
};

/// 5. The folder of the run, and the checkpoint or model that it starts from.
struct Opened {
  Opened(Context& context, Planned& planned, Data& data);
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  /// Finds the newest usable checkpoint. Verifies it if the run has ended; else loading does.
  void find_start(Context& context, Planned& planned, const Data& data);
  /// True if an earlier launch has reached the last step or run out of patience, and left all
  /// outputs that were ordered.
  bool has_ended(Context& context, const Planned& planned) const;
  /// Opens the model of model.init_from if the run has no checkpoint of its own. Completes
  /// [generation].
  void open_initial_weights(Context& context, Planned& planned, const Data& data);
  int64_t done() const { return cursor.steps; }
  /// True if every step so far used this launch's batch size.
  bool is_of_this_batch(const Planned& planned) const;

  std::optional<RunFolder> folder;  ///< on the first rank
  std::optional<save::Checkpointer> checkpointer;
  std::optional<save::Start> start;
  DataCursor cursor;  ///< cursor of `start`
  /// The generation_config.json that fills what [generation] leaves open; "" = none.
  std::string generation;
  std::string answers_text;                      ///< banner lines: memory of texts
  std::unique_ptr<stored::StoredModel> initial;  ///< model of model.init_from, until loaded

 private:
  void count_from_start(Context& context, Planned& planned, const Data& data);
  void learn_generation(Context& context, Planned& planned, const Data& data);
  bool is_out_of_patience(const Planned& planned) const;

  bool other_batches_ = false;  ///< true if an examined checkpoint used another batch size
};

/// 6. Memory, and the state that the steps begin with.
struct Live {
  /// Allocates and fills the state. Throws if a part cannot be made. Parts already made stay until
  /// their owner releases them.
  void begin(Context& context, Planned& planned, Data& data, Opened& opened);

  launch::UserRequests requests;
  std::optional<state::Engine> engine;
  std::optional<launch::JobEnd> job_end;  ///< on the first rank, if run.walltime is not given
  std::optional<RunLog> log;              ///< on the first rank
  int64_t peak_pss = 0;
  double start_seconds = 0, evaluation_seconds = 0;

 private:
  void begin_launch(Context& context, const Planned& planned, Opened& opened);
  void load_start(Context& context, Planned& planned, Data& data, Opened& opened);
  void load_newest_whole(Context& context, Planned& planned, Data& data, Opened& opened);
  void take_older_start(Context& context, Planned& planned, Data& data, Opened& opened,
                        const std::string& why);
  bool is_stuck(const Context& context, const Planned& planned, const Data& data,
                const Opened& opened);
  void make_engine(Context& context, const Planned& planned, const Opened& opened);
  void load_initial_weights(const Planned& planned, Opened& opened);
};

/// Prints the lines before the first step: the banner, the plan's memory, the product peak.
void introduce(Context& context, Planned& planned, const Data& data, const Opened& opened,
               Live& live);

/// 7. Runs the steps.
Outcome train_steps(Context& context, Planned& planned, Data& data, Opened& opened, Live& live);

/// 8. Writes summary, samples and trace, and exports the model of a finished training. Throws
/// Ended, kIo, if the last step is not saved: checkpoint.max_failures lets a run go on, but no work
/// is lost without an error.
void finish(Context& context, const Planned& planned, const Data& data, Opened& opened, Live& live,
            const Outcome& outcome);

/// Returns the end of a launch in words: "finished step 600 of 600".
std::string ending(const RunConfig& config, int64_t done, const Outcome& outcome);
/// Adds `ending` to the launch's line in launches.jsonl.
void tell_launch(const RunFolder& folder, const std::string& ending);

}  // namespace zero::train
