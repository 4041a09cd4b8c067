#include <algorithm>
#include <cstdio>

#include "src/commands/machine_rates.hpp"
#include "src/commands/plan.hpp"
#include "src/commands/train/run.hpp"
#include "src/commands/version.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/placement.hpp"
#include "zero/base/counted.hpp"
#include "zero/base/format.hpp"
#include "zero/base/path.hpp"
#include "zero/config/effective.hpp"
#include "zero/config/steps.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/launch/agreement.hpp"
#include "zero/launch/launches.hpp"
#include "zero/models/model_export.hpp"
#include "zero/models/sampler.hpp"
#include "zero/train/batch_loader.hpp"
#include "zero/train/trace.hpp"

namespace zero::commands {
namespace {

void warn(const std::string& words) {
  std::fprintf(stderr, "zeroapp: warning: %s\n", words.c_str());
}

/// Nobody has measured a machine that a run finds itself on.
state::DiskRates expected_rates(const plan::Machine& machine, int node_ranks) {
  return {.read = machine.disk_read_bandwidth / node_ranks,
          .write = machine.disk_write_bandwidth / node_ranks,
          .slack = 10,
          .source = "a guess"};
}

}  // namespace

void Run::compile_plan() {
  enter(launch::Stage::plan);
  const state::Team team{
      .ranks = session_.ranks(), .threads = session_.threads(), .gpus = drives_devices()};
  const int64_t nodes_most = session_.peers().largest(session_.node_ranks());
  advise::MemoryLimit limit =
      advise::rank_limit(config_, int(nodes_most), session_.shares_devices() ? int(nodes_most) : 1);
  session_.together([&] { limit.disk = advise::disk_room(config_, int(nodes_most)); });
  // What is free differs by moments and nodes; the least counts for all.
  for (int64_t* room : {&limit.bytes, &limit.host_bytes, &limit.process_bytes,
                        &limit.disk.optimizer, &limit.disk.parameters, &limit.disk.both}) {
    *room = session_.peers().smallest(*room);
  }
  limit_ = limit;
  RunConfig asked;
  plan::Machine machine = this->machine();
  machine.node_ranks = nodes_most;
  session_.together([&] {
    input_.locate([&] {
      advise::resolve_largest(config_, team, limit);
      asked = config_;
      place(team, limit, machine);
    });
    disk_ = state::disk_settings(config_);
    plan_ = advise::report_plan(build_, machine, limit);
    outlook_ = {.places = advise::disk_places(disk_, build_.disk_bytes(), session_.node_ranks()),
                .rates = expected_rates(machine, session_.node_ranks()),
                .step = plan_.forecast.disk[plan::kStep]};
  });
  if (session_.is_first()) {
    for (const std::string& warning : plan_warnings(input_, build_.plan)) warn(warning);
  }
  largest_ = largest_text(input_.config, build_.batch.micro, limit);
  session_.together([&] { refuse_unless_fits(plan_, asked, team, {.most = team.ranks}); });
  launch::require_same(session_, "the plan", text(build_.plan.hash()));
  if (!drives_devices()) return;
  // Where one rank lacks a library, its arithmetic and its masks would be others.
  const std::string attention = kernels::attention_library();
  launch::require_same(session_, "the library of attention",
                       attention.empty() ? "none" : attention);
}

/// All ranks must choose alike: by one file, or by the profile of the first rank's device.
plan::Machine Run::machine() {
  if (config_.run.machine.empty()) {
    const std::string profile = plan::profile_of(session_.peers().share(device_text())[0]);
    return plan::machine_profile(profile, state::compute_dtype(config_));
  }
  MachineRates rates;
  session_.together(
      [&] { input_.locate([&] { rates = rates_of_key(config_, session_.ranks()); }); });
  launch::require_same(session_, text("run.machine: ", config_.run.machine), rates.file);
  if (session_.is_first() && !rates.warning.empty()) warn(rates.warning);
  rates_text_ = text("rates       of ", rates.machine.name, ", by which the plan is chosen\n");
  return rates.machine;
}

void Run::place(const state::Team& team, const advise::MemoryLimit& limit,
                const plan::Machine& machine) {
  advise::Placement placement = advise::choose_placement(config_, team, limit, machine);
  homes_ = advise::placement_text(config_, placement);
  advise::note_placement(placement, input_);
  config_ = placement.config;
  build_ = std::move(placement.build);
}

void Run::open_data_sets() {
  enter(launch::Stage::data);
  watch_.emplace(state::data_files(config_));
  session_.together([&] { data_ = state::open_data(config_); });
  resolve_length();
  session_.together([&] {
    // It reads everything, which ranks of one node would find to be the same.
    if (session_.leads_node()) fingerprint_ = text(data_.fingerprint());
  });
  launch::require_same(session_, "the data", fingerprint_);
  if (config_.evaluation.show_samples > 0) prepare_samples();
}

models::SampleOptions Run::sample_options() const {
  return {.samples = config_.evaluation.show_samples,
          .seed = uint64_t(config_.run.seed),
          .threads = session_.threads()};
}

void Run::prepare_samples() {
  session_.together([&] {
    input_.locate(
        [&] { sample_tokenizer_ = models::open_sample_tokenizer(config_, data_, build_.model); });
    if (!session_.is_first()) return;
    const int64_t bytes =
        models::sample_bytes(build_.model, config_.data.sequence_length, sample_options());
    advise::require_room_for_samples(build_, bytes, limit_);
    samples_text_ = text("samples     ", counted(config_.evaluation.show_samples, "text"),
                         " after the last step, for which the first rank takes ",
                         bytes_text(double(bytes)), " more\n");
  });
}

/// How many steps there are to be, and at which rates.
void Run::resolve_length() {
  std::string warning;
  session_.together([&] {
    input_.locate([&] {
      warning = resolve_steps(config_, data_.train->samples(), build_.batch.train, cursor_);
      rates_ = state::learning_rates(config_);
    });
  });
  if (session_.is_first() && !warning.empty()) warn(warning);
  // From here on a key says what it has come to. Homes may be others for the next launch.
  input_.config = advise::with_asked_homes(config_, input_.config);
}

void Run::open_folder() {
  enter(launch::Stage::folder);
  session_.together([&] {
    if (!session_.is_first()) return;
    folder_.emplace(config_.run.output);
    if (begins_anew()) folder_->make_way(true);
  });
  if (!state::is_saved(config_)) return;
  fingerprint_ = session_.peers().share(fingerprint_)[0];
  checkpointer_.emplace(session_, config_, build_.plan, facts());
}

bool Run::begins_anew() const {
  return !state::is_saved(config_) || config_.checkpoint.resume == Resume::never;
}

void Run::find_start() {
  if (begins_anew()) return;
  // Where steps are to come a checkpoint is verified as it is loaded.
  do {
    start_from_ = checkpointer_->find_start();
    if (start_from_) count_from_start();
  } while (start_from_ && has_ended() && !checkpointer_->verify(*start_from_));
}

void Run::count_from_start() {
  session_.together(
      [&] { cursor_ = save::cursor_of(start_from_->manifest, start_from_->folder()); });
  // Of batches of other sizes epochs had other numbers of steps.
  other_batches_ |= !is_of_this_batch(cursor_);
  if (!other_batches_) return;
  resolve_length();
  checkpointer_->set_facts(facts());
}

bool Run::is_of_this_batch(const DataCursor& done) const {
  return done == cursor_before(done.steps + 1, {}, build_.batch.train);
}

save::Facts Run::facts() const {
  return save::launch_facts(
      {.config = config_,
       .build = build_,
       .configuration = effective_toml(input_),
       .description = models::description_json(models::describe_model(config_, build_, data_)),
       .data = fingerprint_,
       .program = version(),
       .threads = session_.threads()});
}

/// Weights from elsewhere, of a training that has no checkpoint of its own yet.
void Run::open_initial_weights() {
  if (start_from_ || config_.model.init_from.empty()) return;
  initial_ = models::open_model(session_, *line_.catalogue, config_.model.init_from);
  session_.together([&] {
    models::require_same_model(*initial_, build_.model);
    const std::string& there = initial_->description().tokenizer;
    const bool other = (there == "bytes") != (config_.data.tokenizer == "bytes");
    if (there.empty() || !other) return;
    refuse(Exit::kInput, "model.init_from: ", initial_->path(), ": was trained with tokenizer ",
           there, ", data.tokenizer is ", config_.data.tokenizer);
  });
}

/// Without all that it leaves the end itself is yet to come.
bool Run::has_ended() {
  if (done() < last_step(config_)) return false;
  const std::vector<std::string> left = left_by_an_end();
  const auto has_left = [&](const std::string& name) {
    return is_there(folder_->path() + "/" + name);
  };
  const bool ended = folder_ && std::all_of(left.begin(), left.end(), has_left);
  return session_.peers().largest(ended) > 0;
}

/// What an end at the step that is reached has been ordered to leave and could leave again.
std::vector<std::string> Run::left_by_an_end() const {
  std::vector<std::string> names = {"summary.json"};
  if (config_.evaluation.show_samples > 0) names.push_back("sample.txt");
  if (exports_model() && done() >= config_.run.steps) names.push_back("model");
  return names;
}

bool Run::exports_model() const {
  return config_.export_model.at_end || config_.zero.stage3_gather_16bit_weights_on_model_save;
}

bool Run::is_finished() {
  if (!start_from_ || !has_ended()) return false;
  // All is there: an earlier launch's error says nothing that is still so.
  session_.together([&] {
    if (folder_) folder_->forget_error();
  });
  const bool stops = config_.run.stop_at > 0 && config_.run.stop_at < config_.run.steps;
  say(text(start_from_->folder(), ": step ", done(), " of ", config_.run.steps, " is reached: ",
           stops ? "go on with run.stop_at=0" : text("train further with run.steps=", 2 * done()),
           ", or begin anew with ", save::to_begin_anew(config_), "\n"));
  return true;
}

void Run::begin() {
  enter(launch::Stage::memory);
  begin_launch();
  if (!start_from_) introduce_start();
  make_engine();
  if (start_from_) load_start();
  load_initial_weights();
  outlook_.rates = engine_->begin_disk();
  if (!config_.run.record) engine_->executor().queue_one_by_one();
  if (config_.profile.trace) engine_->executor().keep_trace(train::traced_bodies(build_.plan));
}

/// Of what an earlier launch has left in the folder only its error goes before a checkpoint is
/// found to verify.
void Run::begin_launch() {
  session_.together([&] {
    if (!folder_) return;
    if (start_from_) {
      folder_->forget_error();
    } else {
      folder_->make_way(false);
    }
  });
  session_.record_failures_in(config_.run.output);
  session_.together([&] {
    if (!folder_) return;
    requests_ = launch::Requests(folder_->path());
    for (const std::string& name : requests_.forget()) {
      say(text(name, " was for an earlier launch and is removed\n"));
    }
    record_launch();
  });
}

void Run::record_launch() {
  std::vector<std::string> command = {"zeroapp", line_.input};
  command.insert(command.end(), line_.overrides.begin(), line_.overrides.end());
  launch::begin_launch(folder_->path(), {.host = session_.host(),
                                         .ranks = session_.ranks(),
                                         .threads = session_.threads(),
                                         .version = version(),
                                         .command = command,
                                         .resumed_from = done()});
}

void Run::load_start() {
  load_newest_whole();
  if (start_from_->on_trial) {
    outlook_.rates = engine_->begin_disk();
    if (is_stuck()) {
      checkpointer_->give_up(*start_from_);
      take_older_start(text("step ", done(), " lies in a streak that does not end"));
    } else {
      make_engine();
    }
    load_newest_whole();
  }
  introduce_start();
}

void Run::load_newest_whole() {
  while (!checkpointer_->load(*start_from_, *engine_)) {
    take_older_start(text("step ", done(), " does not verify"));
  }
}

/// Whether the first attempt is skipped. What it makes of the state is for nobody.
bool Run::is_stuck() {
  const train::BatchLoader loader{.data = *data_.train,
                                  .batch = build_.batch,
                                  .seed = uint64_t(config_.run.seed),
                                  .done = cursor_};
  const int64_t step = done() + 1;
  loader.load(*engine_, session_.rank(), step);
  kernels::StepInputs inputs = loader.inputs(step);
  engine_->run(plan::kStep, inputs);
  inputs.pending = 1;
  inputs.pending_step = step;
  inputs.pending_tokens = inputs.counted_tokens;
  engine_->run(plan::kFinish, inputs);
  return engine_->state().report.skipped != 0;
}

void Run::take_older_start(const std::string& why) {
  find_start();
  session_.together([&] {
    if (!folder_) return;
    if (!launch::end_launch(folder_->path(), why)) warn("launches.jsonl could not be written");
    record_launch();
  });
  make_engine();
}

void Run::make_engine() {
  // A plan of large products is slow long before it hangs, and the first step on a device measures
  // what the others use.
  const double least = drives_devices() ? 300 : 30;
  const double patience = std::max(least, 20 * plan_.forecast.step_seconds);
  const double seconds = config_.run.watchdog ? double(config_.run.watchdog) : patience;
  engine_.emplace(
      session_, build_, state::rules_of(config_, rates_),
      state::Engine::Options{.seed = uint64_t(config_.run.seed),
                             .watchdog_seconds = seconds,
                             .disk = disk_,
                             .disk_rates = outlook_.rates,
                             .draws_weights = !start_from_,
                             .fast_attention = config_.numerics.attention == AttentionOrder::fast});
}

void Run::load_initial_weights() {
  if (!initial_) return;
  const int64_t disk_bytes = build_.plan.arena_bytes[size_t(plan::Tier::nvme)];
  const int64_t weights = model::parameter_count(build_.model) * int64_t(sizeof(float));
  engine_->together_at_disk("the weights that it begins with", disk_bytes + weights,
                            [&] { models::begin_with_weights(*initial_, engine_->view()); });
  initial_.reset();
}

}  // namespace zero::commands
