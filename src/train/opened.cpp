#include <algorithm>

#include "src/train/chain.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/schedule.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::train {
namespace {

bool begins_anew(const Planned& planned) {
  return !planned.is_saved() || planned.config.checkpoint.resume == Resume::never;
}

save::Facts facts_of(const Context& context, const Planned& planned, const Data& data,
                     const std::string& generation = "") {
  const auto described = stored::describe_model(planned.config, planned.build, data.sets);
  return save::launch_facts({.config = planned.config,
                             .build = planned.build,
                             .configuration = effective_toml(planned.settings),
                             .description = stored::description_json(described),
                             .generation = generation,
                             .data = data.fingerprint,
                             .program = context.order.version,
                             .threads = context.session.threads()});
}

/// Returns the memory of texts in words: "answers     12 texts an evaluation, which take of each
/// rank 1.2 MiB, 0 B of it beside the plan".
std::string texts_text(const Planned& planned, const Data& data) {
  const EvaluationConfig& evaluation = planned.config.evaluation;
  const int64_t all = data.sets.validation ? data.sets.validation->samples() : 0;
  std::string told;
  for (const setup::Texts& texts : planned.build.texts) {
    const std::string room =
        text(", which take of each rank ", bytes_text(double(advise::sum(texts.bytes))), ", ",
             advise::beside_text(planned.build, texts), "\n");
    const bool answers = planned.samples_answer();
    if (evaluation.generate && answers) {
      const int64_t count = limited(all, evaluation.generate_samples);
      told += text("answers     ", counted(count, "text"), " an evaluation", room);
    }
    if (evaluation.show_samples == 0) continue;
    const int64_t count = std::min(answers ? all : INT64_MAX, evaluation.show_samples);
    told += text("samples     ", counted(count, answers ? "answer" : "text"),
                 " after the last step", room);
  }
  return told;
}

/// Returns the outputs that an end at this step has been ordered to leave and could leave again.
std::vector<std::string> left_by_an_end(const Planned& planned, bool is_last) {
  std::vector<std::string> names = {"summary.json"};
  if (planned.config.evaluation.show_samples > 0) names.push_back("sample.txt");
  if (planned.exports_model() && is_last) names.push_back("model");
  return names;
}

}  // namespace

Opened::Opened(Context& context, Planned& planned, Data& data) {
  context.enter(launch::Milestone::folder);
  context.session.on_every_rank([&] {
    if (!context.session.is_first()) return;
    folder.emplace(planned.config.run.output);
    if (begins_anew(planned)) folder->make_way(true);
  });
  if (!planned.is_saved()) return;
  data.fingerprint = context.session.peers().share(data.fingerprint)[0];
  if (folder) folder->will_make(save::checkpoint_root(planned.config), "LOCK");
  checkpointer.emplace(context.session, planned.config, planned.build.plan,
                       facts_of(context, planned, data));
}

void Opened::find_start(Context& context, Planned& planned, const Data& data) {
  if (begins_anew(planned)) return;
  // If steps are to come, loading verifies the checkpoint.
  do {
    start = checkpointer->find_start();
    if (start) count_from_start(context, planned, data);
  } while (start && has_ended(context, planned) && !checkpointer->verify(*start));
}

void Opened::count_from_start(Context& context, Planned& planned, const Data& data) {
  context.session.on_every_rank(
      [&] { cursor = save::cursor_of(start->manifest, start->folder()); });
  // With other batch sizes, epochs had other numbers of steps.
  other_batches_ |= !is_of_this_batch(planned);
  if (!other_batches_) return;
  planned.resolve_length(context, data.sets, cursor);
  checkpointer->set_facts(facts_of(context, planned, data, generation));
}

/// Settings from the model that the run began with stay in force, even if its folder is gone.
void Opened::learn_generation(Context& context, Planned& planned, const Data& data) {
  const model::Architecture& model = planned.build.recipe.model;
  GenerationConfig under;
  if (start) {
    const auto found = start->manifest.facts.find(save::kGenerationFact);
    generation = found == start->manifest.facts.end() ? "" : found->second;
    context.session.on_every_rank([&] {
      under = stored::parse_generation(model, generation, start->folder() + ": its generation");
    });
  } else if (initial) {
    stored::ModelDescription description = initial->description();
    under = description.generation;
    const bool says_anything = !generation_values(under).empty();
    generation = says_anything ? stored::generation_json(description) : "";
    launch::require_same(context.session, "what model.init_from says of generation", generation);
  }
  planned.complete_generation(context, under);
  planned.count_texts(context);
  answers_text = texts_text(planned, data);
  if (checkpointer && !generation.empty()) {
    checkpointer->set_facts(facts_of(context, planned, data, generation));
  }
}

bool Opened::is_of_this_batch(const Planned& planned) const {
  return cursor == cursor_before(done() + 1, {}, planned.build.batch.train);
}

bool Opened::is_out_of_patience(const Planned& planned) const {
  return start && save::is_out_of_patience(start->manifest.facts, planned.config.checkpoint);
}

bool Opened::has_ended(Context& context, const Planned& planned) const {
  // A run that lacks some of its outputs has not ended.
  const bool is_reached = start && done() >= last_step(planned.config);
  if (!start || !(is_reached || is_out_of_patience(planned))) return false;
  const bool is_last = done() >= planned.config.run.steps || is_out_of_patience(planned);
  const std::vector<std::string> left = left_by_an_end(planned, is_last);
  const auto has_left = [&](const std::string& name) {
    return is_there(folder->path() + "/" + name);
  };
  const bool ended = folder && std::all_of(left.begin(), left.end(), has_left);
  return context.session.peers().largest(ended) > 0;
}

void Opened::open_initial_weights(Context& context, Planned& planned, const Data& data) {
  const RunConfig& config = planned.config;
  if (start || config.model.init_from.empty()) return learn_generation(context, planned, data);
  initial = std::move(planned.start);
  if (!initial)
    initial = stored::open_model(context.session, context.order.catalogue, config.model.init_from);
  context.session.on_every_rank([&] {
    stored::require_same_model(*initial, planned.build.recipe.model);
    const std::string& there = initial->description().tokenizer;
    const bool other = (there == "bytes") != (config.data.tokenizer == "bytes");
    if (there.empty() || !other) return;
    refuse(Exit::kInput, "model.init_from: ", initial->path(), ": was trained with tokenizer ",
           there, ", data.tokenizer is ", config.data.tokenizer);
  });
  learn_generation(context, planned, data);
}

}  // namespace zero::train
