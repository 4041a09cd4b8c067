/// The half of Checkpointer that finds a checkpoint and loads it.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "src/save/checkpoint_check.hpp"
#include "src/save/fact_rules.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/model/objective.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/save/missing_checkpoint.hpp"
#include "zero/save/stored_checkpoints.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::save {
namespace {

namespace fs = std::filesystem;
using checkpoint::Manifest;
using checkpoint::Store;

/// Returns the key that says where checkpoints are.
const char* place_of(const RunConfig& config) {
  return config.checkpoint.dir.empty() ? "run.output" : "checkpoint.dir";
}

/// Returns checkpoint.dir of a run; "" if `folder` is not a run, or the key is not set.
std::string named_folder(const std::string& folder, Exit exit) {
  const std::string settings = folder + "/effective.toml";
  if (!is_there(settings, exit)) return "";
  for (const TomlEntry& entry : parse_toml(read_whole(settings, int64_t(kTomlMaxBytes))).entries) {
    const std::string* named = std::get_if<std::string>(&entry.value);
    if (entry.key == "checkpoint.dir" && named) return *named;
  }
  return "";
}

}  // namespace

CheckpointFolder find_checkpoints(const std::string& folder, Exit exit) {
  // Messages keep the user's words, unless a link has another name than its step.
  const fs::path words = fs::path(folder + "/").lexically_normal().parent_path();
  std::error_code unknown;  // reading the folder will report it
  for (const fs::path& path : {words, fs::weakly_canonical(folder, unknown)}) {
    const std::optional<int64_t> step = Store::step_in(path.filename().string());
    if (step) return {path.has_parent_path() ? path.parent_path() : ".", step};
  }
  if (is_folder(folder + "/checkpoints", exit)) return {folder + "/checkpoints", {}};
  const std::string elsewhere = named_folder(folder, exit);
  return {elsewhere.empty() ? folder : elsewhere, {}};
}

std::string checkpoint_root(const RunConfig& config) {
  return config.checkpoint.dir.empty() ? config.run.output + "/checkpoints" : config.checkpoint.dir;
}

std::string to_begin_anew(const RunConfig& config) {
  return config.checkpoint.dir.empty() ? "checkpoint.resume = \"never\"" : "another checkpoint.dir";
}

std::string Start::folder() const { return store->root() + "/" + Store::folder_of(manifest.step); }

std::optional<Start> Checkpointer::find_start() {
  const launch::Asleep asleep(session_.peers());
  const CheckpointConfig& wanted = config_.checkpoint;
  session_.on_every_rank([&] {
    if (!session_.is_first() || !store_ || !store_->has_lost_all()) return;
    const std::string link = store_->root() + "/latest";
    refuse(Exit::kNoCheckpoint, link,
           ": points at a checkpoint that is not there, and there is no ",
           "other - restore one, or remove ", link, " to begin anew");
  });
  std::vector<int64_t> steps;
  std::optional<Start> start;
  if (store_) {
    steps = shared_steps(*store_);
    start = newest(*store_, steps);
  }
  if (!start && !wanted.resume_from.empty()) {
    CheckpointFolder place;
    session_.on_every_rank([&] {
      place = find_checkpoints(wanted.resume_from, Exit::kNoCheckpoint);
      if (other_) return;
      if (!is_folder(place.root, Exit::kNoCheckpoint)) {
        refuse(Exit::kNoCheckpoint, "checkpoint.resume_from: ", no_folder_text(wanted.resume_from));
      }
      other_ = std::make_unique<Store>(Store::Options{.root = place.root});
    });
    steps = place.step ? std::vector{*place.step} : shared_steps(*other_);
    start = newest(*other_, steps);
  }
  const bool required = wanted.resume == Resume::require || !wanted.resume_from.empty();
  session_.on_every_rank([&] {
    if (start || !required) return;
    refuse(Exit::kNoCheckpoint, other_ ? other_->root() : store_->root(),
           ": holds no checkpoint to go on from - to begin anew ",
           other_ ? "remove checkpoint.resume_from" : "write checkpoint.resume = \"auto\"");
  });
  if (!start) return start;
  require_same_training(*start);
  return store_ ? out_of_streak(std::move(*start), steps) : start;
}

/// Reads the manifest, and checks that its files exist, some on each rank. Returns the problem.
std::string Checkpointer::look_at(Start& start, int64_t step) {
  const Problem problem = first_problem(session_.peers(), {}, [&] {
    const OpenFile folder = start.store->open_step(step);
    start.manifest = read_fit_manifest(*start.store, folder.descriptor(), step);
    const std::vector<checkpoint::File>& files = start.manifest.files;
    const checkpoint::DigestForm digests = digest_form(start.manifest);
    for (size_t f = size_t(session_.rank()); f < files.size(); f += size_t(session_.ranks())) {
      checkpoint::ShardReader(folder.descriptor(), start.folder(), files[f], digests);
    }
  });
  return damage_in(problem);
}

std::string Checkpointer::problem_of(const Start& start, state::Engine* engine) {
  // Ranks that finish reading early sleep, so that slower ranks can use their cores.
  const launch::Asleep asleep(session_.peers());
  std::optional<state::StateView> view;
  if (engine) view = engine->view();
  return damage_in(check_checkpoint(session_.peers(), session_.threads(), *start.store,
                                    start.manifest, view ? &*view : nullptr));
}

/// Returns the fault of a checkpoint, or "".
std::string Checkpointer::damage_in(const Problem& problem) {
  if (!problem || problem.exit == Exit::kInput) return problem.what;
  session_.on_every_rank([&] {
    if (session_.rank() != problem.rank) return;
    const bool unread = problem.exit == Exit::kIo;  // or a disk that is filled from it fails
    refuse(problem.exit, problem.what,
           unread ? " - mend that and start again: the checkpoint may be whole" : "");
  });
  return "";
}

bool Checkpointer::verify(const Start& start, state::Engine* engine) {
  const std::string problem = problem_of(start, engine);
  if (!problem.empty()) pass_over(*start.store, start.manifest.step, problem);
  return problem.empty();
}

void Checkpointer::pass_over(const Store& store, int64_t step, const std::string& problem) {
  session_.on_every_rank([&] {
    if (config_.checkpoint.resume != Resume::require) return;
    refuse(Exit::kNoCheckpoint, problem, " - restore it, or go on from an older one with ",
           "checkpoint.resume = \"auto\"");
  });
  if (session_.is_first()) warn_passed_over(step, problem);
  damaged_[{&store, step}] = problem;
}

/// Returns the first rank's steps, because ranks may see a network folder at different times.
std::vector<int64_t> Checkpointer::shared_steps(const Store& store) {
  std::string words;
  session_.on_every_rank([&] {
    if (!session_.is_first()) return;
    for (const int64_t step : store.steps()) words += text(step, " ");
  });
  std::istringstream listed(session_.peers().share(words)[0]);
  return {std::istream_iterator<int64_t>(listed), {}};
}

std::optional<Start> Checkpointer::newest(const Store& store, const std::vector<int64_t>& steps) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (damaged_.contains({&store, *step})) continue;
    Start start{.store = &store, .manifest = {}};
    const std::string problem = look_at(start, *step);
    if (problem.empty()) return start;
    pass_over(store, *step, problem);
  }
  session_.on_every_rank([&] {
    if (steps.empty()) return;
    refuse(Exit::kNoCheckpoint, store.root(),
           ": none of its checkpoints verifies: ", damaged_.at({&store, steps.back()}),
           " - restore one, or ",
           &store == other_.get()
               ? "go on from others with checkpoint.resume_from"
               : text("begin anew with ", to_begin_anew(config_), ", which keeps them"));
  });
  return {};
}

void Checkpointer::require_same_training(const Start& start) {
  session_.on_every_rank([&] {
    const Facts& facts = start.manifest.facts;
    if (is_weights_only(facts)) {
      refuse(Exit::kNoCheckpoint, start.folder(), ": holds weights alone, from which no training ",
             "goes on - begin a new one with them: model.init_from = \"", start.folder(),
             "\" and another ", place_of(config_));
    }
    std::string refused = changes_since(facts, facts_, config_.data.changed).refused;
    if (refused.empty()) refused = state::other_optimizer(plan_, start.manifest);
    if (refused.empty()) refused = state::other_freeze(plan_, start.manifest);
    if (!refused.empty()) {
      refuse(Exit::kInput, start.folder(), ": ", refused,
             " - go on with what it was, or begin anew with another ", place_of(config_));
    }
    require_model_fits(facts, config_, start.folder());
    state::require_loadable(plan_, start.manifest, start.folder());
  });
}

std::vector<std::string> Checkpointer::changes(const Start& start) const {
  return changes_since(start.manifest.facts, facts_, config_.data.changed).listed;
}

std::string Checkpointer::bytes_note(const Start& start) const {
  return any_order_note(start.manifest.facts, facts_);
}

bool Checkpointer::load(const Start& start, state::Engine& engine) {
  if (!verify(start, &engine)) return false;
  take_state(start, engine);
  if (start.store != store_.get()) return true;
  best_ = best_in(start.manifest.facts, model::objective_for(config_));
  // Under another metric, an earlier evaluation may have no score.
  const std::string& metric = config_.checkpoint.best_metric;
  if (best_ && !metric.empty() && std::isnan(merit_of(*best_, metric))) best_.reset();
  patience_ = patience_in(start.manifest.facts, metric);
  session_.on_every_rank([&] {
    if (session_.is_first()) set_newer_aside(start);
  });
  return true;
}

std::optional<state::Evaluation> Checkpointer::load_best(int64_t last_step, state::Engine& engine) {
  if (!best_ || best_->step == last_step) return {};
  Start start{.store = store_.get(), .manifest = {}};
  std::string problem = look_at(start, best_->step);
  if (problem.empty()) problem = problem_of(start, &engine);
  session_.on_every_rank([&] {
    if (problem.empty()) return;
    refuse(Exit::kNoCheckpoint, "checkpoint.load_best_at_end: the best was of step ", best_->step,
           ": ", problem, " - the weights of the last step are saved");
  });
  take_state(start, engine);
  return best_;
}

void Checkpointer::take_state(const Start& start, state::Engine& engine) {
  session_.on_every_rank([&] {
    const kernels::StepState fresh = engine.state();
    kernels::StepState state = state_in(start.manifest.facts);
    const FactChanges changes = changes_since(start.manifest.facts, facts_, config_.data.changed);
    if (changes.other_precision) {
      // A loss scale belongs to the precision that it was found for.
      state.loss_scale = fresh.loss_scale;
      state.hysteresis_left = fresh.hysteresis_left;
      state.scaler_iteration = fresh.scaler_iteration;
      state.last_overflow = fresh.last_overflow;
    }
    if (config_.fp16.loss_scale > 0) state.loss_scale = fresh.loss_scale;  // a chosen scale
    if (changes.may_end_streak) state.skipped_in_row = 0;
    engine.set_state(state);
    if (engine.spikes().is_on()) engine.spikes().set_content(spikes_in(start.manifest.facts));
  });
}

}  // namespace zero::save
