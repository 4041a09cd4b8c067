#include "zero/save/checkpointer.hpp"

#include <algorithm>
#include <cmath>

#include "src/save/checkpoint_save.hpp"
#include "src/save/checkpoint_streaks.hpp"
#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

using checkpoint::Store;

int mode_of(Permissions permissions) {
  constexpr int kModes[] = {0700, 0750, 0755, 0770};
  return kModes[size_t(permissions)];
}

/// Returns the bytes of one checkpoint, but for a few KiB.
int64_t bytes_of_checkpoint(const plan::Plan& plan, std::span<const setup::SavedPart> parts) {
  int64_t bytes = 0;
  for (const graph::Parameter& parameter : plan.graphs[0].parameters) {
    for (const setup::SavedPart part : parts) {
      if (!setup::is_saved(parameter, part)) continue;
      bytes += parameter.real_numel * setup::element_bytes(plan, part);
    }
  }
  return bytes;
}

}  // namespace

Checkpointer::Checkpointer(launch::Session& session, const RunConfig& config,
                           const plan::Plan& plan, Facts facts)
    : session_(session),
      config_(config),
      plan_(plan),
      facts_(std::move(facts)),
      kept_(std::make_unique<KeptOfSaves>()),
      streaks_(std::make_unique<StreakRecord>()) {
  open_store();
  require_shared_folder();
  session_.on_every_rank([&] {
    kept_->take_memory(plan_, setup::saved_parts(plan_, config_.checkpoint.weights_only));
    if (!session_.is_first()) return;
    state::require_readable_manifest(plan_, config_.checkpoint.weights_only, facts_);
    warn_of_leftovers(*store_);
    warn_of_little_room();
  });
  if (!config_.checkpoint.async) return;
  background_ = std::make_unique<Background>(
      session_, plan_, setup::saved_parts(plan_, config_.checkpoint.weights_only));
}

Checkpointer::Checkpointer(launch::Session& session, const RunConfig& config,
                           const plan::Plan& plan, Facts facts, ReadsOnly)
    : session_(session),
      config_(config),
      plan_(plan),
      facts_(std::move(facts)),
      kept_(std::make_unique<KeptOfSaves>()),
      streaks_(std::make_unique<StreakRecord>()) {}

Checkpointer::~Checkpointer() = default;

void Checkpointer::open_store() {
  const std::string root = checkpoint_root(config_);
  const auto open = [&](bool writes) {
    store_ = std::make_unique<Store>(Store::Options{
        .root = root, .writes = writes, .permissions = mode_of(config_.checkpoint.permissions)});
  };
  session_.on_every_rank([&] {
    if (!session_.is_first()) return;
    open(true);
    if (config_.checkpoint.resume != Resume::never || store_->steps().empty()) return;
    refuse(Exit::kUsage, "checkpoint.dir: ", root,
           ": holds checkpoints, and checkpoint.resume = \"never\" begins anew - write another "
           "checkpoint.dir, or resume = \"auto\" to go on from them");
  });
  session_.on_every_rank([&] {
    if (session_.is_first()) return;
    try {
      open(false);
    } catch (const Error& error) {
      refuse(error.exit(), "checkpoint.dir: ", error.what(),
             " - rank 0 has made it: write one on a file system that all hosts share");
    }
  });
}

/// Requires that all hosts see the same folder, not only a folder of the same name.
void Checkpointer::require_shared_folder() {
  std::string trial;
  session_.on_every_rank([&] {
    if (session_.is_first()) trial = store_->begin_trial();
  });
  trial = session_.peers().share(trial)[0];
  session_.on_every_rank([&] {
    try {
      store_->try_folder(trial, session_.rank());
    } catch (const Error& error) {
      refuse(error.exit(), "checkpoint.dir: ", error.what(),
             " - every rank must write into the folder that rank 0 writes into: write one on a "
             "file system that all hosts share");
    }
  });
  session_.on_every_rank([&] {
    const std::string left = session_.is_first() ? store_->abandon(trial) : "";
    if (!left.empty()) refuse(Exit::kIo, left);
  });
}

void Checkpointer::warn_of_little_room() {
  const int64_t there = int64_t(store_->steps().size());
  const int64_t keep = std::max<int64_t>(2, config_.checkpoint.keep);
  // Old checkpoints go while new ones come, each after a new one is written.
  const int64_t needed =
      (1 + std::max<int64_t>(0, keep - there)) *
      bytes_of_checkpoint(plan_, setup::saved_parts(plan_, config_.checkpoint.weights_only));
  const int64_t room = store_->free_bytes();
  if (room >= needed) return;
  warn(store_->root(), ": ", bytes_text(double(room)), " are free, checkpoints will take ",
       bytes_text(double(needed)), " more - make room, or write a smaller checkpoint.keep");
}

void Checkpointer::require_room() {
  constexpr int64_t kLibraryBytes = int64_t(16) << 20;  // HDF5, a queue, texts of a manifest
  session_.on_every_rank([&] {
    if (would_get(kLibraryBytes)) return;
    refuse(Exit::kDoesNotFit, "checkpoints: the system refuses the ",
           bytes_text(double(kLibraryBytes)),
           " that libraries may take in a save - raise the limits of this process (ulimit -v, "
           "ulimit -d), or take a smaller train_micro_batch_size_per_gpu");
  });
}

void Checkpointer::note(const state::Evaluation& evaluation) {
  const double merit = merit_of(evaluation, config_.checkpoint.best_metric);
  // A launch that ends between two evaluations adds one, which must not end a training.
  const int64_t interval = config_.evaluation.interval;
  if (interval > 0 && evaluation.step % interval == 0) patience_.hear(evaluation.step, merit);
  if (!std::isnan(merit)) noted_ = evaluation;
  const bool lacks = !config_.checkpoint.best_metric.empty() && std::isnan(merit) &&
                     std::isfinite(evaluation.loss);
  if (!lacks || std::exchange(lacks_metric_, true) || !session_.is_first()) return;
  warn("the evaluation after step ", evaluation.step, " has no ", config_.checkpoint.best_metric,
       ", which is undefined if all predictions or all labels are equal: it is no best one, and "
       "checkpoint.patience counts from the first that has one");
}

std::string Checkpointer::lack_of_metric() const {
  if (!lacks_metric_ || noted_ || best_) return "";
  return text("no evaluation had a ", config_.checkpoint.best_metric,
              ", so no step is the best one and checkpoint.patience never counted");
}

bool Checkpointer::is_out_of_patience() const {
  const int64_t most = config_.checkpoint.patience;
  return most > 0 && patience_.evaluations >= most;
}

void Checkpointer::save(const DataCursor& done, state::Engine& engine) {
  committed(true);
  const int64_t step = done.steps;
  Facts facts = facts_;
  facts[kSamplesFact] = std::to_string(done.samples);
  const kernels::StepState state = engine.state();
  add_state(state, facts);
  if (engine.spikes().is_on()) add_spikes(engine.spikes().content(), facts);
  const StreakMark mark = streak_mark(config_, step, state);
  add_streak(mark, facts);
  const bool measured = noted_ && noted_->step == step;
  const auto merit = [&](const state::Evaluation& evaluation) {
    return merit_of(evaluation, config_.checkpoint.best_metric);
  };
  best_if_saved_ = measured && (!best_ || merit(*noted_) > merit(*best_)) ? noted_ : best_;
  if (best_if_saved_) add_best(*best_if_saved_, facts);
  add_patience(patience_, config_.checkpoint.best_metric, facts);
  LivePayload live(engine.view(), setup::saved_parts(plan_, config_.checkpoint.weights_only),
                   *kept_->reader);
  SaveOrder order{.store = *store_,
                  .plan = plan_,
                  .parts = setup::saved_parts(plan_, config_.checkpoint.weights_only),
                  .step = step,
                  .facts = std::move(facts),
                  .retention = {.keep = config_.checkpoint.keep,
                                .keep_every = config_.checkpoint.keep_every,
                                .best = {},
                                .healthy = healthy_beside(mark)},
                  .kept = *kept_};
  if (best_if_saved_) order.retention.best = best_if_saved_->step;
  saving_ = step;
  if (background_) return background_->begin(live, std::move(order), engine);
  std::atomic<int64_t> pieces{0};
  conclude(save_checkpoint(order, session_.peers(), live, pieces));
}

int64_t Checkpointer::committed(bool waits) {
  if (saving_ == 0) return committed_;
  // Ranks hear of the end at different moments, but must act at the same one.
  if (waits || session_.peers().smallest(background_->ended()) == 1) conclude(background_->end());
  return committed_;
}

void Checkpointer::conclude(const SaveFault& fault) {
  const int64_t step = std::exchange(saving_, 0);
  if (!fault.what.empty()) {
    problem_ = text("the checkpoint of step ", step, " failed: ", fault.what);
    blamed_ = fault.blamed;
    return give_up();
  }
  committed_ = step;
  streaks_->committed.push_back(streaks_->saving);
  best_ = best_if_saved_;
}

void Checkpointer::give_up() {
  if (++failures_ > config_.checkpoint.max_failures) {
    session_.on_every_rank([&] {
      if (!session_.is_first()) return;
      const std::string what = text(problem_, " - mend that; checkpoint.max_failures = ", failures_,
                                    " would have let the run go on");
      throw launch::NodeError(Exit::kIo, what, blamed_);
    });
  }
  if (!session_.is_first()) return;
  warn(problem_, "; checkpoint.max_failures lets the run go on");
}

}  // namespace zero::save
