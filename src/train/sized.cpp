#include <utility>

#include "src/train/chain.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/objective.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/setup/build.hpp"
#include "zero/train/banner.hpp"

namespace zero::train {
namespace {

const DataKind& kind_of(const RunConfig& config) { return *model::objective_for(config).data; }

/// Returns the fingerprint of the files now, or the error text if they are no data.
std::string fingerprint_now(const DataKind& kind, const DataOptions& read_by) {
  try {
    return text(kind.open(read_by).fingerprint());
  } catch (const Error& error) {
    if (error.exit() != Exit::kInput) throw;
    return error.what();
  }
}

}  // namespace

Sized::Sized(Context& context, Planned planned, DataOptions options)
    : Planned(std::move(planned)), read_by(std::move(options)) {
  const DataKind& kind = kind_of(config);
  watch.emplace(kind.files(read_by));
  launch::Session& session = context.session;
  session.on_every_rank([&] { sets = kind.open(read_by); });
  if (!sets.remark.empty()) samples_text = text("data        ", sets.remark, "\n");
  group_samples(context);
  open_scored(context);
  samples_text += lengths_text(sets, build().batch.micro);
  count_steps(context, {});
  session.on_every_rank([&] {
    // Only the node's first rank reads all data, because its peers would find the same.
    if (session.leads_node()) fingerprint = text(sets.fingerprint());
  });
  launch::require_same(session, "the data", save::fingerprint_text(fingerprint));
  open_tokenizers(context);
  if (is_saved()) fingerprint = session.peers().share(fingerprint)[0];
}

/// Orders samples by length and compiles shorter forms, if data.length_buckets asks for it.
void Sized::group_samples(Context& context) {
  const bool chooses = chooses_lengths(config.data);
  context.session.on_every_rank([&] {
    settings.locate([&] { setup::group_samples(config, context.world(), *made, sets); });
  });
  if (!chooses) return;
  settings.origins.at("data.length_buckets") += "; chosen for \"auto\" from the data";
  launch::require_same(context.session, "the plan", text(build().plan.hash()));
}

/// Opens the texts to score, and adds forms of the evaluation for their lengths.
void Sized::open_scored(Context& context) {
  context.session.on_every_rank([&] {
    settings.locate([&] { scored = setup::open_scored_sets(config); });
    setup::group_scored(config, context.world(), *made, scored);
  });
  for (const ScoredSet& set : scored)
    launch::require_same(context.session, set.key, text(set.fingerprint));
}

void Sized::count_steps(Context& context, const DataCursor& done) {
  std::string warning;
  context.session.on_every_rank([&] {
    settings.locate([&] {
      warning = resolve_steps(config, sets.train->samples(), build().batch.train, done);
      rates = setup::learning_rates(config);
    });
  });
  if (!warning.empty()) context.warn(warning);
  // Keys hold their resolved values from here on, except homes, which the next launch may choose
  // anew.
  const GenerationConfig own = settings.config.generation;
  settings.config = advise::with_asked_homes(config, settings.config);
  settings.config.generation = own;
}

void Sized::open_tokenizers(Context& context) {
  const bool samples = config.evaluation.show_samples > 0;
  context.session.on_every_rank([&] {
    if (config.evaluation.generate || (samples && samples_answer()))
      answer_tokenizer = open_tokenizer(config.data.tokenizer);
    if (!samples || samples_answer()) return;
    settings.locate([&] {
      sample_tokenizer = writing::open_sample_tokenizer(config, sets, build().recipe.model);
    });
  });
}

/// After a change of files, training may have read either version, so no checkpoint can name its
/// data. Files that differ only in time change nothing.
void Sized::require_same_data(Context& context, state::Engine& engine) {
  const std::string changed = context.session.leads_node() ? watch->changed() : "";
  if (context.session.peers().largest(!changed.empty()) == 0) return;
  engine.on_every_rank_at_disk("the data, which have changed", watch->bytes(), [&] {
    if (changed.empty()) return;
    watch->renew();
    const std::string now = fingerprint_now(kind_of(config), read_by);
    if (now != fingerprint) {
      refuse(Exit::kInput, changed, ": was replaced or written to while the run read from it: the ",
             "data had fingerprint ", save::fingerprint_text(fingerprint), ", now ",
             save::fingerprint_text(now),
             "; this step is not saved - put back what was there and start again, or go on with ",
             "the new data by data.changed = true");
    }
    if (std::exchange(has_warned_, true)) return;
    warn(changed, ": was touched or replaced while the run reads from it; it holds what it held");
  });
}

}  // namespace zero::train
