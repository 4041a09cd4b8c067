#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "src/commands/commands.hpp"
#include "src/commands/sample_scores.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/device/device.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/objective.hpp"
#include "zero/setup/build.hpp"
#include "zero/setup/prepare_data.hpp"
#include "zero/state/text_scorer.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::commands {
namespace {

using launch::Session;

struct Model {
  std::unique_ptr<stored::StoredModel> stored;
  RunConfig config;
  setup::Build build;
  DataSets data;
  std::vector<ScoredSet> scored = {};       ///< of evaluation.choices and evaluation.documents
  std::unique_ptr<OutputFile> scores = {};  ///< of --scores, on the first rank
};

/// Compiles the evaluation with weights at this home. Returns true if this rank has room for it.
/// Refuses the last home if texts have no room there.
bool fits(Session& session, const setup::World& world, bool is_last, Model& model) {
  model.build = setup::build_evaluation(model.config, world);
  const bool writes = model.config.evaluation.generate;
  if (writes)
    model.build.texts = train::texts_of(model.config, model.config.generation, model.build);
  const int ranks = session.node_ranks();
  const advise::MemoryLimit limit =
      advise::rank_limit(model.config, ranks, session.shares_devices() ? ranks : 1);
  const bool fit = advise::fits(model.build, limit);
  // For a loss alone, the last home is tried anyway, because a limit may be of the training's plan.
  if (fit || !is_last || !writes) return fit;
  refuse(Exit::kDoesNotFit, "the evaluation needs ", advise::shortage_text(model.build, limit),
         " - write a smaller evaluation.micro_batch_size, or evaluation.generate = false for the "
         "loss alone");
}

/// Returns the homes that weights may have, fastest first. Weights that the run kept beside the
/// device stay there only if the device has no room.
std::vector<RunConfig> placements(RunConfig config, bool is_written) {
  if (is_written) return {config};
  if (config.offload_param.device != Home::none) config.offload_param.device = Home::automatic;
  return advise::home_candidates(config);
}

/// Takes the first home with room on all ranks.
void place(Session& session, const setup::World& world, const CommandLine& line, Model& model) {
  // The weights keep a home that the command names.
  const bool is_written = std::ranges::any_of(line.overrides, [](const std::string& setting) {
    return setting.starts_with("zero.offload_param.device=");
  });
  const std::vector<RunConfig> homes = placements(model.config, is_written);
  for (const RunConfig& home : homes) {
    bool holds = false;
    session.on_every_rank([&] {
      model.config = home;
      holds = fits(session, world, &home == &homes.back(), model);
    });
    if (session.peers().smallest(holds) > 0) return;
  }
}

void load(state::Engine& engine, const Model& model) {
  const int64_t weights = model::parameter_count(model.build.recipe) * int64_t(sizeof(float));
  engine.on_every_rank_at_disk("the weights", weights,
                               [&] { stored::load_weights(*model.stored, engine.view()); });
  state::warm_up_disk(engine, {});
}

/// Opens the file of --scores before any work is done. Only the first rank writes. Refuses an
/// evaluation without labels or choices.
void open_scores(Session& session, const CommandLine& line, Model& model) {
  const model::Objective& objective = model::objective_for(model.config);
  session.on_every_rank([&] {
    if (line.scores.empty()) return;
    if (!objective.measures(MetricSource::scores) && model.config.evaluation.choices.empty()) {
      const bool chooses = objective.measures(MetricSource::choices);
      refuse(Exit::kUsage, "command line: --scores: the model learns ", objective.settings.name,
             ", which give no scores of labels; ",
             chooses ? "write evaluation.choices=FILE, or " : "", "leave it out");
    }
    if (session.is_first()) model.scores = std::make_unique<OutputFile>(line.scores);
  });
}

bool names_tokenizer(const CommandLine& line) {
  return std::ranges::any_of(line.overrides, [](const std::string& setting) {
    return setting.starts_with("data.tokenizer=");
  });
}

/// Refuses class names that the model's scores do not stand for.
void require_classes(const Model& model) {
  const std::vector<std::string>& there = model.stored->description().classes;
  const std::vector<std::string>& here = model.data.classes;
  if (stored::may_stand_for(here, there, !model.config.data.labels.empty())) return;
  const auto list = [](const std::vector<std::string>& names) {
    return to_text(TomlArray(names.begin(), names.end()));
  };
  refuse(Exit::kInput, model.stored->path(), ": its classes are ", list(there),
         ", those of the data ", list(here), "; write data.labels=", list(there));
}

/// Adds what the model's own texts are worth, if asked for.
void add_texts(Session& session, state::Engine& engine, const Model& model,
               state::Evaluation& result) {
  if (!model.config.evaluation.generate || !std::isfinite(result.loss)) return;
  train::answer({.session = session,
                 .engine = engine,
                 .config = model.config,
                 .build = model.build,
                 .validation = *model.data.validation,
                 .tokenizer = *open_tokenizer(model.config.data.tokenizer),
                 .samples = model.config.evaluation.generate_samples})
      .add_to(result, model::objective_for(model.config));
}

/// Opens the texts to score, and adds forms of the plan for their lengths.
void open_scored(Session& session, const setup::World& world, Model& model) {
  session.on_every_rank([&] {
    model.scored = setup::open_scored_sets(model.config);
    setup::group_scored(model.config, world, model.build, model.scored);
  });
  for (const ScoredSet& set : model.scored)
    launch::require_same(session, set.key, text(set.fingerprint));
}

/// Returns the loss of the validation set, which may be missing.
state::Evaluation evaluate_validation(Session& session, state::Engine& engine, Model& model) {
  if (!model.data.validation) return {.step = 1, .loss = 0};
  train::Evaluator evaluator({.session = session,
                              .engine = engine,
                              .validation = *model.data.validation,
                              .objective = model::objective_for(model.config)});
  state::Evaluation result = evaluator.evaluate(state::inputs_of_evaluation());
  session.on_every_rank([&] {
    if (!model.scores || !evaluator.measures_scores() || !std::isfinite(result.loss)) return;
    write_scores(*model.scores, evaluator.scores(), model.data.classes);
    model.scores->publish();
  });
  return result;
}

/// Adds what the model's scores of texts are worth.
void add_scored(Session& session, state::Engine& engine, Model& model, state::Evaluation& result) {
  for (const ScoredSet& set : model.scored) {
    const std::vector<model::SampleScore> scores =
        state::sample_scores(session, engine, *set.samples, result.seconds);
    state::add_scores(set, scores, model::objective_for(model.config), result);
    session.on_every_rank([&] {
      if (!model.scores || set.choices.empty() || !std::isfinite(result.loss)) return;
      write_choices(*model.scores, set.choices, scores);
      model.scores->publish();
    });
  }
}

state::Evaluation evaluate(Session& session, const state::Communicators& comms, Model& model) {
  const std::vector<float> rates = setup::learning_rates(model.config);
  state::DiskHomes disk;
  session.on_every_rank([&] { disk = state::disk_homes(model.config); });
  state::Engine engine(session, comms, model.build, setup::rules_of(model.config, rates),
                       {.disk = disk, .draws_weights = false});
  load(engine, model);
  session.lookout().enter(launch::Milestone::steps);
  state::Evaluation result = evaluate_validation(session, engine, model);
  add_scored(session, engine, model, result);
  add_texts(session, engine, model, result);
  return result;
}

/// Returns bits, comparable to other compressors of the same text if a token is a byte.
double bits_of(double nats) { return nats / std::log(2.0); }

/// Returns "null" for infinity, which JSON lacks. No double holds the perplexity of a loss above
/// 709.
std::string json_number(double number) {
  return std::isfinite(number) ? format("%.17g", number) : "null";
}

/// Returns the metrics of a source as members of a JSON object.
std::string members(const state::Evaluation& result, MetricSource source) {
  std::string all;
  for (const auto& [metric, value] : result.metrics) {
    if (metric->source != source) continue;
    all += text('"', metric->name, "\": ", json_number(value), ", ");
    if (!metric->signature.empty()) all += text("\"signature\": \"", metric->signature, "\", ");
  }
  return all;
}

std::string json_text(const state::Evaluation& result, bool bytes) {
  std::string json = "{";
  if (result.counted > 0) {
    json += format("\"loss\": %.17g, \"loss_hex\": \"%016llx\", ", result.loss,
                   (unsigned long long)std::bit_cast<uint64_t>(result.loss));
  }
  for (const MetricSource source : kPlainSources) json += members(result, source);
  const bool is_measured = result.measured("bits_per_byte") != nullptr;
  if (bytes && !is_measured) append(json, "\"bits_per_byte\": %.17g, ", bits_of(result.loss));
  if (result.texts > 0) {
    json += members(result, MetricSource::texts);
    append(json, "\"texts\": %lld, \"texts_seconds\": %.3f, ", (long long)result.texts,
           result.texts_seconds);
  }
  if (result.counted > 0)
    append(json, "\"%ss\": %lld, ", result.counted_by, (long long)result.counted);
  append(json, "\"seconds\": %.3f}\n", result.seconds);
  return json;
}

/// Returns the metrics of a source for people, each with two blanks behind it.
std::string figures(const state::Evaluation& result, MetricSource source) {
  std::string all;
  for (const auto& [metric, value] : result.metrics) {
    if (metric->source != source) continue;
    const bool is_undefined = source == MetricSource::scores && std::isnan(value);
    all += text(metric->words, ' ', is_undefined ? "undefined  " : format("%.4f  ", value));
  }
  return all;
}

/// Returns the loss for people; "" without a validation set.
std::string loss_words(const state::Evaluation& result, bool bytes) {
  if (result.counted == 0) return "";
  const char* unit = result.measured("pearson") ? "" : " nats";  // else a mean squared error
  std::string words =
      format("loss %.6f%s a %s", result.loss, unit, bytes ? "byte" : result.counted_by);
  if (bytes) append(words, " = %.6f bits a byte", bits_of(result.loss));
  return words + "  ";
}

std::string words(const state::Evaluation& result, bool bytes) {
  std::string line = loss_words(result, bytes);
  for (const MetricSource source : kPlainSources) line += figures(result, source);
  if (result.counted > 0) append(line, "%lld %ss  ", (long long)result.counted, result.counted_by);
  append(line, "%.1f s\n", result.seconds);
  if (result.texts > 0) {
    line += figures(result, MetricSource::texts);
    append(line, "%lld texts  %.1f s\n", (long long)result.texts, result.texts_seconds);
  }
  for (const auto& [metric, value] : result.metrics) {
    if (!metric->signature.empty()) line += text("  ", metric->signature, "\n");
  }
  return line;
}

}  // namespace

int eval(const CommandLine& line, int& argc, char**& argv) {
  Session session(argc, argv);
  session.require_whole_launch();
  Model model;
  session.end_all_on_error([&] {
    // 1. The model and its settings, read alike by every rank.
    model.stored = stored::open_model(session, *line.catalogue, line.input);
    session.on_every_rank([&] {
      model.config =
          stored::evaluation_config(line.catalogue->models, *model.stored, line.overrides);
    });
    open_scores(session, line, model);
    session.start_threads(model.config.run.threads, model.config.run.share_device);
    // 2. The plan of an evaluation, within what communicators leave, and the data.
    const state::Communicators comms = state::ready_communicators(session);
    const setup::World world{
        .ranks = session.ranks(), .threads = session.threads(), .gpus = drives_devices()};
    place(session, world, line, model);
    session.on_every_rank([&] {
      model.data = setup::open_as_run(model.config);
      require_classes(model);
      if (!names_tokenizer(line) && model.config.data.tokenizer == "bytes")
        stored::require_tokenizer(*model.stored, *model.data.train_source);
      setup::group_samples(model.config, world, model.build, model.data);
    });
    open_scored(session, world, model);
    launch::require_same(session, "the plan", text(model.build.plan.hash()));
    // 3. The weights, and their loss.
    const state::Evaluation result = evaluate(session, comms, model);
    session.on_every_rank([&] {
      if (std::isfinite(result.loss)) return;
      refuse(Exit::kNumerics, model.stored->path(), ": the loss is not finite: the weights are ",
             "broken, or overflow in ", name_of(model.build.plan.request.compute));
    });
    const bool bytes = model.stored->description().tokenizer == "bytes" && result.counted > 0 &&
                       result.counted_by == kByToken;
    const std::string said = line.json ? json_text(result, bytes) : words(result, bytes);
    if (session.is_first()) std::fputs(said.c_str(), stdout);
  });
  return int(Exit::kFinished);
}

}  // namespace zero::commands
