#include <algorithm>

#include "src/train/chain.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/stored/lent_weights.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::train {
namespace {

/// Returns the memory of texts in words: "answers     12 texts an evaluation, which take of each
/// rank 1.2 MiB, 0 B of it beside the plan".
std::string texts_text(const Sized& sized) {
  const EvaluationConfig& evaluation = sized.config.evaluation;
  const int64_t all = sized.sets.validation ? sized.sets.validation->samples() : 0;
  std::string told;
  for (const setup::Texts& texts : sized.build().texts) {
    const std::string room =
        text(", which take of each rank ", bytes_text(double(advise::sum(texts.bytes))), ", ",
             advise::beside_text(sized.build(), texts), "\n");
    const bool answers = sized.samples_answer();
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

Started::Started(Context& context, Sized sized, Opened& opened) : Sized(std::move(sized)) {
  find_start(context, opened);
  if (has_ended) return;
  open_initial_weights(context);
  learn_generation(context, opened);
}

Started Started::older(Context& context, Started newer, Opened& opened) {
  newer.find_start(context, opened);
  return newer;
}

void Started::find_start(Context& context, Opened& opened) {
  if (begins_anew(*this)) return;
  // If steps are to come, loading verifies the checkpoint.
  do {
    start = opened.checkpointer->find_start();
    if (start) count_from_start(context, opened);
    has_ended = ended(context, opened);
  } while (start && has_ended && !opened.checkpointer->verify(*start));
}

void Started::count_from_start(Context& context, Opened& opened) {
  context.session.on_every_rank(
      [&] { cursor = save::cursor_of(start->manifest, start->folder()); });
  // With other batch sizes, epochs had other numbers of steps.
  other_batches_ |= !is_of_this_batch();
  if (!other_batches_) return;
  count_steps(context, cursor);
  opened.checkpointer->set_run(config, facts_of(context, *this, kept));
}

/// Settings from the model that the run began with stay in force, even if its folder is gone.
void Started::learn_generation(Context& context, Opened& opened) {
  const model::Architecture& model = build().recipe.model;
  GenerationConfig under;
  if (start) {
    const auto fact = [&](const char* name) {
      const auto found = start->manifest.facts.find(name);
      return found == start->manifest.facts.end() ? std::string() : found->second;
    };
    kept.generation = fact(save::kGenerationFact);
    context.session.on_every_rank([&] {
      under =
          stored::parse_generation(model, kept.generation, start->folder() + ": its generation");
      kept.origin = stored::origin_of(context.order.catalogue, fact(save::kDescriptionFact));
    });
  } else if (initial) {
    stored::ModelDescription description = initial->description();
    under = description.generation;
    const bool says_anything =
        !description.generation_text.empty() || !generation_values(under).empty();
    kept.generation = says_anything ? stored::generation_json(description) : "";
    kept.origin = description.origin;
    launch::require_same(context.session, "what model.init_from says of generation",
                         kept.generation);
    launch::require_same(context.session, "config.json of model.init_from", kept.origin.text);
  }
  complete_generation(context, under);
  count_texts(context);
  answers_text = texts_text(*this);
  const bool is_any = !kept.generation.empty() || !kept.lent.empty() || !kept.origin.text.empty();
  if (opened.checkpointer && is_any)
    opened.checkpointer->set_run(config, facts_of(context, *this, kept));
}

void Started::complete_generation(Context& context, const GenerationConfig& under) {
  context.session.on_every_rank(
      [&] { settings.locate([&] { require_generation(settings.config.generation, under); }); });
  config.generation = completed(settings.config.generation, under);
}

/// Counts the memory of texts again if [generation] is not the one that the plan counted by. Throws
/// Error(kDoesNotFit) without room.
void Started::count_texts(Context& context) {
  if (config.generation == counted_by) return;
  counted_by = config.generation;
  const GenerationConfig& written = settings.config.generation;
  setup::World world = context.world();
  context.session.on_every_rank([&] {
    settings.locate([&] { made->texts = texts_of(config, written, build()); });
    train::count_texts(config, config.generation, world);
    advise::refuse_unless_fits(report, config, world, context.change_options());
  });
}

bool Started::is_of_this_batch() const {
  return cursor == cursor_before(done() + 1, {}, build().batch.train);
}

bool Started::is_out_of_patience() const {
  return start && save::is_out_of_patience(start->manifest.facts, config.checkpoint);
}

bool Started::ended(Context& context, const Opened& opened) const {
  // A run that lacks some of its outputs has not ended.
  const bool is_reached = start && done() >= last_step(config);
  if (!start || !(is_reached || is_out_of_patience())) return false;
  const bool is_last = done() >= config.run.steps || is_out_of_patience();
  const std::vector<std::string> left = left_by_an_end(*this, is_last);
  const auto has_left = [&](const std::string& name) {
    return is_there(opened.folder->path() + "/" + name);
  };
  const bool is_done = opened.folder && std::all_of(left.begin(), left.end(), has_left);
  return context.session.peers().largest(is_done) > 0;
}

void Started::open_initial_weights(Context& context) {
  const bool borrows = graph::borrows(build().plan.graphs[0]);
  if ((start && !borrows) || config.model.init_from.empty()) return initial.reset();
  if (!initial)
    initial = stored::open_model(context.session, context.order.catalogue, config.model.init_from,
                                 &config);
  context.session.on_every_rank([&] {
    stored::require_same_model(*initial, build().recipe.model);
    stored::require_same_classes(*initial, sets.classes, !config.data.labels.empty());
    if (settings.origins.at("data.tokenizer") == "default" && config.data.tokenizer == "bytes" &&
        sets.train_source && !sets.synthetic) {
      stored::require_tokenizer(*initial, *sets.train_source);
    }
    const std::string& there = initial->description().tokenizer;
    const bool other = (there == "bytes") != (config.data.tokenizer == "bytes");
    if (there.empty() || !other) return;
    refuse(Exit::kInput, "model.init_from: ", initial->path(), ": was trained with tokenizer ",
           there, ", data.tokenizer is ", config.data.tokenizer);
  });
  if (borrows) learn_lender(context);
}

/// Learns the digest of the weights that are read again at each start, and compares it.
void Started::learn_lender(Context& context) {
  launch::Session& session = context.session;
  const graph::Graph& graph = build().plan.graphs[0];
  std::string share;
  session.on_every_rank(
      [&] { share = stored::lent_share(*initial, graph, session.rank(), session.ranks()); });
  kept.lent = stored::lent_digest(session.peers().share(share));
  session.on_every_rank([&] {
    if (start) stored::require_lent(*initial, kept.lent, start->manifest.facts, start->folder());
  });
}

}  // namespace zero::train
