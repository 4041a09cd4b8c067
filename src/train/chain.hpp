#pragma once
/// A run is a chain of values: Input, Planned, Sized, Opened, Started, Live, Outcome. Each is made
/// from the earlier ones, and is complete when it is made. Sized and Started take over the plan
/// before them: the data decide lengths and forms, the checkpoint the steps and the generation
/// settings. All constructors and functions are collective.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/train/data_watch.hpp"
#include "src/train/run_folder.hpp"
#include "src/train/trainer.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/outlook.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/config/read_config.hpp"
#include "zero/io/data/scored_texts.hpp"
#include "zero/launch/console.hpp"
#include "zero/launch/stop.hpp"
#include "zero/monitor/digest_log.hpp"
#include "zero/monitor/run_log.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/text_sampler.hpp"
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
  setup::World world() const;
  /// Returns options without changes to more ranks than the launcher started.
  advise::ChangeOptions change_options() const;
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

  const setup::Build& build() const { return *made; }
  bool is_saved() const { return setup::is_saved(config); }
  bool exports_model() const;
  /// True if samples of evaluation.show_samples answer sources of the validation set.
  bool samples_answer() const { return model::data_form(build().recipe.model).ids.start >= 0; }
  /// Returns options for samples that answer no source.
  writing::SampleOptions sample_options(int threads) const;

  std::unique_ptr<stored::StoredModel> initial;  ///< model of model.init_from, until loaded
  ConfigInput settings;  ///< settings for effective.toml: open ones stay open, with the choice
                         ///< noted
  RunConfig config;      ///< settings of this launch: none is open
  /// Made before `limit` is read, which counts their memory.
  std::shared_ptr<const state::Communicators> comms;
  advise::MemoryLimit limit;  ///< per rank, the least of all ranks
  std::shared_ptr<setup::Build> made;
  advise::PlanReport report;  ///< made from `made`
  state::DiskHomes disk;
  advise::DiskOutlook outlook;  ///< with expected rates
  GenerationConfig counted_by;  ///< the settings by which `made` counts texts
  std::string rates_text;  ///< banner line on the rates that chose the plan; "" without run.machine
  std::string choices;     ///< banner lines: open settings and their choices

 private:
  plan::Machine machine(Context& context);
  /// Chooses what is open beside `batch`, the choices of the micro-batch.
  void place(const setup::World& world, const plan::Machine& machine, const advise::Choices& batch);
};

/// 4. The samples, checked to be alike on every rank, and the plan with forms and steps for them.
struct Sized : Planned {
  /// `read_by` is as setup::prepare_data() returned it.
  Sized(Context& context, Planned planned, DataOptions read_by);

  /// Throws Ended, kInput, if files were written to or replaced by other data, because a checkpoint
  /// states the data of its consumed samples.
  void require_same_data(Context& context, state::Engine& engine);

  DataOptions read_by;  ///< options that open the samples
  DataSets sets;
  std::vector<ScoredSet> scored;  ///< of evaluation.choices and evaluation.documents
  std::string fingerprint;        ///< on the first rank of each node; on all ranks of a saved run
  std::optional<DataWatch> watch;
  std::unique_ptr<Tokenizer> sample_tokenizer = {};  ///< for samples that answer no source
  std::unique_ptr<Tokenizer> answer_tokenizer = {};  ///< for evaluation.generate and samples that
                                                     ///< answer
  std::string samples_text = {};
  std::vector<float> rates;  ///< learning rate of each update

 protected:
  /// Fills in run.steps, counted on from `done`, and the learning rates.
  void count_steps(Context& context, const DataCursor& done);

 private:
  void group_samples(Context& context);
  void open_scored(Context& context);
  void open_tokenizers(Context& context);

  bool has_warned_ = false;
};

/// The parts of the first model that a run keeps.
struct Kept {
  /// The generation_config.json that fills what [generation] leaves open; "" = none.
  std::string generation = {};
  std::string lent = {};                         ///< digest of borrowed weights; "" = none
  stored::ModelDescription::Origin origin = {};  ///< of its config.json
};
/// Returns the facts of a launch's checkpoints.
save::Facts facts_of(const Context& context, const Sized& sized, const Kept& kept = {});
/// True if the run must not go on from a checkpoint.
bool begins_anew(const Planned& planned);

/// 5. The folder of the run, and what saves and finds its checkpoints.
struct Opened {
  /// Takes the run's folder unless the making of its data has.
  Opened(Context& context, const Sized& sized, std::unique_ptr<RunFolder> taken);
  /// Opens no folder, and the checkpoint of checkpoint.resume_from to read.
  Opened(Context& context, const Sized& sized, save::Checkpointer::ReadsOnly reads);

  std::unique_ptr<RunFolder> folder;  ///< on the first rank
  std::optional<save::Checkpointer> checkpointer;
};

/// 6. The checkpoint or model that the run starts from, with the steps and the generation settings
/// that follow from it.
struct Started : Sized {
  /// Finds the newest usable checkpoint. Verifies it if the run has ended; else loading does. Opens
  /// the model of model.init_from if the run has not ended, and has no checkpoint of its own or
  /// borrows from it.
  Started(Context& context, Sized sized, Opened& opened);
  Started(Started&&) = default;
  Started& operator=(Started&&) = default;

  /// Returns the start from an older checkpoint, or anew, of a run that cannot load `newer`.
  static Started older(Context& context, Started newer, Opened& opened);

  int64_t done() const { return cursor.steps; }
  /// True if every step so far used this launch's batch size.
  bool is_of_this_batch() const;

  std::optional<save::Start> start;
  DataCursor cursor;  ///< cursor of `start`
  /// True if an earlier launch has reached the last step or run out of patience, and left all
  /// outputs that were ordered.
  bool has_ended = false;
  Kept kept;
  std::string answers_text;  ///< banner lines: memory of texts

 private:
  void find_start(Context& context, Opened& opened);
  void count_from_start(Context& context, Opened& opened);
  bool ended(Context& context, const Opened& opened) const;
  bool is_out_of_patience() const;
  void open_initial_weights(Context& context);
  void learn_lender(Context& context);
  void learn_generation(Context& context, Opened& opened);
  void complete_generation(Context& context, const GenerationConfig& under);
  void count_texts(Context& context);

  bool other_batches_ = false;  ///< true if an examined checkpoint used another batch size
};

/// 7. Memory, and the state that the steps begin with.
struct Live {
  /// Allocates and fills the state. Replaces `started` by an older start if its checkpoint does not
  /// verify. Throws if a part cannot be made. Parts already made stay until their owner releases
  /// them.
  void begin(Context& context, Started& started, Opened& opened);
  /// Allocates and fills the state, and writes nothing. REQUIRES: `opened` reads only.
  void begin_unseen(Context& context, Started& started, Opened& opened);

  launch::UserRequests requests;
  std::optional<state::Engine> engine;
  std::optional<launch::JobEnd> job_end;  ///< on the first rank, if run.walltime is not given
  std::optional<monitor::RunLog> log;     ///< on the first rank
  std::optional<monitor::DigestLog> digests = {};  ///< on the first rank, if digests are taken
  state::DiskRates disk_rates;  ///< expected, or as the filled disk has shown them
  int64_t peak_pss = 0;
  double start_seconds = 0, evaluation_seconds = 0;

 private:
  void begin_launch(Context& context, const Started& started, Opened& opened);
  void load_start(Context& context, Started& started, Opened& opened);
  void load_newest_whole(Context& context, Started& started, Opened& opened);
  void take_older_start(Context& context, Started& started, Opened& opened, const std::string& why);
  bool is_stuck(const Context& context, const Started& started);
  void make_engine(Context& context, const Started& started);
  void load_model(const Started& started);
};

/// The values that a run has made so far. If making one of them fails, those that peers and lanes
/// may wait for stay.
struct Values {
  std::shared_ptr<const state::Communicators> comms;
  std::shared_ptr<const setup::Build> build;
  std::optional<Planned> planned;
  std::optional<Sized> sized;
  std::optional<Started> started;
  std::optional<Opened> opened;
  Live live;
};

/// The values that exist when the steps begin.
struct Made {
  Context& context;
  Started& started;
  Opened& opened;
  Live& live;
};

/// Prints the lines before the first step: the banner, the plan's memory, the product peak.
void introduce(const Made& run);

/// 8. Runs the steps.
Outcome train_steps(const Made& run);

/// 9. Writes summary, samples and trace, and exports the model of a finished training. Throws
/// Ended, kIo, if the last step is not saved: checkpoint.max_failures lets a run go on, but no work
/// is lost without an error.
void finish(const Made& run, const Outcome& outcome);

/// Returns the end of a launch in words: "finished step 600 of 600".
std::string ending(const RunConfig& config, int64_t done, const Outcome& outcome);
/// Adds `ending` to the launch's line in launches.jsonl.
void tell_launch(const RunFolder& folder, const std::string& ending);

}  // namespace zero::train
