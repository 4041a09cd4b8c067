#include <algorithm>

#include "src/train/chain.hpp"
#include "zero/base/path.hpp"
#include "zero/config/effective.hpp"
#include "zero/config/steps.hpp"
#include "zero/models/model_folder.hpp"

namespace zero::train {
namespace {

bool begins_anew(const Planned& planned) {
  return !planned.is_saved() || planned.config.checkpoint.resume == Resume::never;
}

bool is_of_this_batch(const DataCursor& done, const Planned& planned) {
  return done == cursor_before(done.steps + 1, {}, planned.build.batch.train);
}

save::Facts facts_of(const Ranks& ranks, const Planned& planned, const Data& data) {
  const auto described = models::describe_model(planned.config, planned.build, data.sets);
  return save::launch_facts({.config = planned.config,
                             .build = planned.build,
                             .configuration = effective_toml(planned.settings),
                             .description = models::description_json(described),
                             .data = data.fingerprint,
                             .program = ranks.order.version,
                             .threads = ranks.session.threads()});
}

/// What an end at the step that is reached has been ordered to leave and could leave again.
std::vector<std::string> left_by_an_end(const Planned& planned, int64_t done) {
  std::vector<std::string> names = {"summary.json"};
  if (planned.config.evaluation.show_samples > 0) names.push_back("sample.txt");
  if (planned.exports_model() && done >= planned.config.run.steps) names.push_back("model");
  return names;
}

}  // namespace

Opened::Opened(Ranks& ranks, Planned& planned, Data& data) {
  ranks.enter(launch::Stage::folder);
  ranks.session.together([&] {
    if (!ranks.session.is_first()) return;
    folder.emplace(planned.config.run.output);
    if (begins_anew(planned)) folder->make_way(true);
  });
  if (!planned.is_saved()) return;
  data.fingerprint = ranks.session.peers().share(data.fingerprint)[0];
  checkpointer.emplace(ranks.session, planned.config, planned.build.plan,
                       facts_of(ranks, planned, data));
  find_start(ranks, planned, data);
}

void Opened::find_start(Ranks& ranks, Planned& planned, const Data& data) {
  if (begins_anew(planned)) return;
  // Where steps are to come a checkpoint is verified as it is loaded.
  do {
    start = checkpointer->find_start();
    if (start) count_from_start(ranks, planned, data);
  } while (start && has_ended(ranks, planned) && !checkpointer->verify(*start));
}

void Opened::count_from_start(Ranks& ranks, Planned& planned, const Data& data) {
  ranks.session.together([&] { cursor = save::cursor_of(start->manifest, start->folder()); });
  // Of batches of other sizes epochs had other numbers of steps.
  other_batches_ |= !is_of_this_batch(cursor, planned);
  if (!other_batches_) return;
  planned.resolve_length(ranks, data.sets, cursor);
  checkpointer->set_facts(facts_of(ranks, planned, data));
}

bool Opened::has_ended(Ranks& ranks, const Planned& planned) const {
  // Without all that it leaves the end itself is yet to come.
  if (!start || done() < last_step(planned.config)) return false;
  const std::vector<std::string> left = left_by_an_end(planned, done());
  const auto has_left = [&](const std::string& name) {
    return is_there(folder->path() + "/" + name);
  };
  const bool ended = folder && std::all_of(left.begin(), left.end(), has_left);
  return ranks.session.peers().largest(ended) > 0;
}

void Opened::open_initial_weights(Ranks& ranks, const Planned& planned) {
  const RunConfig& config = planned.config;
  if (start || config.model.init_from.empty()) return;
  initial = models::open_model(ranks.session, ranks.order.catalogue, config.model.init_from);
  ranks.session.together([&] {
    models::require_same_model(*initial, planned.build.model);
    const std::string& there = initial->description().tokenizer;
    const bool other = (there == "bytes") != (config.data.tokenizer == "bytes");
    if (there.empty() || !other) return;
    refuse(Exit::kInput, "model.init_from: ", initial->path(), ": was trained with tokenizer ",
           there, ", data.tokenizer is ", config.data.tokenizer);
  });
}

}  // namespace zero::train
