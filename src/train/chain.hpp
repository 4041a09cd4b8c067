#pragma once
/// A run is a chain of values: Input, Planned, Data, Opened, Live, Outcome. Each is made from those
/// before it. A later value completes an earlier one only where it alone knows the answer: the data
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
#include "zero/models/generator.hpp"
#include "zero/models/stored_model.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/train/run.hpp"

namespace zero::train {

/// 1. The session, the order and the console of this run. Only the first rank prints.
struct Context {
  launch::Session& session;
  const Order& order;
  launch::Console console;

  void say(const std::string& text) { console.say(text); }
  void enter(launch::Milestone milestone) { session.lookout().enter(milestone); }
  /// On the first rank.
  void warn(const std::string& words) const;
};

/// 2. What is wanted, read alike by every rank.
struct Input {
  explicit Input(Context& context);

  ConfigInput settings;
  std::unique_ptr<models::StoredModel> start;  ///< of model.init_from, where it was looked at
};

/// 3. The communicators and the plan, which every rank compiles to the same bytes, and which fits.
struct Planned {
  Planned(Context& context, Input input);
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  /// How many steps there are to be after `done`, and at which rates.
  void resolve_length(Context& context, const DataSets& data, const DataCursor& done);
  /// Orders samples by their lengths and compiles what shorter ones run, where that is asked for.
  void group_samples(Context& context, DataSets& data);
  bool is_saved() const { return state::is_saved(config); }
  bool exports_model() const;
  /// Completes what [generation] leaves open: `under` is what the model that the run began with
  /// says.
  void complete_generation(Context& context, const GenerationConfig& under);
  /// Counts anew what texts take where [generation] was completed otherwise than for the plan.
  /// Throws Error(kDoesNotFit) if there is no room for them.
  void count_texts(Context& context);
  /// Whether samples of evaluation.show_samples are answers to sources of the validation set.
  bool samples_answer() const { return model::data_form(build.recipe.model).start >= 0; }
  /// How those are made that answer nothing.
  models::SampleOptions sample_options(int threads) const;

  std::unique_ptr<models::StoredModel> start;  ///< as Input's, until Opened takes it
  ConfigInput settings;  ///< as they are told: what was left open stays so, with what was chosen
  RunConfig config;      ///< of this launch: nothing is left open
  state::Communicators comms;  ///< made before the limit is read, which counts what they take
  advise::MemoryLimit limit;   ///< of a rank, the least of all
  state::Build build;
  advise::PlanReport report;  ///< of `build`
  state::DiskHomes disk;
  advise::DiskOutlook outlook;
  GenerationConfig counted_by;  ///< by which `build` counts what texts take
  std::vector<float> rates;     ///< the learning rate of each update
  std::string rates_text;       ///< names whose rates chose the plan; "" without run.machine
  std::string choices;          ///< for people: what was left open, and what it has come to

 private:
  plan::Machine machine(Context& context);
  void place(const state::World& world, const plan::Machine& machine);
};

/// 4. The samples, and whether they are those of every rank.
struct Data {
  Data(Context& context, Planned& planned);

  /// Throws Ended, kInput, where the files were written to or replaced since: a checkpoint says of
  /// which data it has consumed so many samples.
  void require_same(Context& context, const RunConfig& config, state::Engine& engine);

  DataSets sets;
  std::string fingerprint;  ///< on the first rank of each node; on all where the run is saved
  std::optional<DataWatch> watch;
  std::unique_ptr<Tokenizer> sample_tokenizer = {};  ///< of samples that answer nothing
  std::unique_ptr<Tokenizer> answer_tokenizer = {};  ///< of evaluation.generate, and of others
  std::string samples_text = {};

 private:
  bool has_warned_ = false;
};

/// 5. The folder of the run, and what it goes on from.
struct Opened {
  Opened(Context& context, Planned& planned, Data& data);
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  /// The newest checkpoint that is of use; of a run with no step to come one that verifies.
  void find_start(Context& context, Planned& planned, const Data& data);
  /// Whether an earlier launch has reached the last step and left what it was ordered to.
  bool has_ended(Context& context, const Planned& planned) const;
  /// Weights from elsewhere, of a training that has no checkpoint of its own yet.
  void open_initial_weights(Context& context, Planned& planned, const Data& data);
  int64_t done() const { return cursor.steps; }
  /// Whether every step so far used this launch's batch size.
  bool is_of_this_batch(const Planned& planned) const;

  std::optional<RunFolder> folder;  ///< on the first rank
  std::optional<save::Checkpointer> checkpointer;
  std::optional<save::Start> start;
  DataCursor cursor;  ///< of that start
  /// The generation_config.json that fills what [generation] leaves open; "" = none.
  std::string generation;
  std::string answers_text;                      ///< for people: what texts will take
  std::unique_ptr<models::StoredModel> initial;  ///< of model.init_from, until they are loaded

 private:
  void count_from_start(Context& context, Planned& planned, const Data& data);
  void learn_generation(Context& context, Planned& planned, const Data& data);
  bool is_out_of_patience(const Planned& planned) const;

  bool other_batches_ = false;  ///< a checkpoint that was examined used another batch size
};

/// 6. Memory, and the state that the steps begin with.
struct Live {
  /// Throws if a part cannot be made. Parts already made stay until their owner releases them.
  void begin(Context& context, Planned& planned, Data& data, Opened& opened);

  launch::UserRequests requests;
  std::optional<state::Engine> engine;
  std::optional<launch::JobEnd> job_end;  ///< on the first rank, where no run.walltime is given
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

/// What is said before the first step: the banner, the plan's memory, the peak of products.
void introduce(Context& context, Planned& planned, const Data& data, const Opened& opened,
               Live& live);

/// 7. The steps.
Outcome train_steps(Context& context, Planned& planned, Data& data, Opened& opened, Live& live);

/// 8. What came of them: summary, samples, trace; the model of a finished training. Throws Ended,
/// kIo, where the last step is not saved: checkpoint.max_failures lets a run go on, not its work be
/// lost without a word.
void finish(Context& context, const Planned& planned, const Data& data, Opened& opened, Live& live,
            const Outcome& outcome);

/// "finished step 600 of 600"
std::string ending(const RunConfig& config, int64_t done, const Outcome& outcome);
/// Adds it to launches.jsonl.
void tell_launch(const RunFolder& folder, const std::string& ending);

}  // namespace zero::train
