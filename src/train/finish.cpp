#include <sstream>
#include <string>

#include "src/train/chain.hpp"
#include "src/train/summary.hpp"
#include "src/train/trace.hpp"
#include "zero/base/error.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/launch_record.hpp"
#include "zero/model/objective.hpp"
#include "zero/state/engine.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::train {
namespace {

void write_summary(const Made& run, const Outcome& outcome) {
  const auto& [context, started, opened, live] = run;
  const std::string summary =
      summary_json({.session = context.session,
                    .engine = *live.engine,
                    .plan = started.report,
                    .outcome = outcome,
                    .version = context.order.version,
                    .peak_pss_bytes = live.peak_pss,
                    .start_seconds = live.start_seconds,
                    .train_seconds = live.log ? live.log->seconds() : 0,
                    .earlier_seconds = live.log ? live.log->earlier_seconds() : 0,
                    .evaluation_seconds = live.evaluation_seconds,
                    .done = started.done(),
                    .peak_flops = live.log ? live.log->context().peak_flops : 0,
                    .flops_per_unit = live.log ? live.log->context().flops_per_unit : 0,
                    .hashes_state = started.config.run.state_hash});
  if (opened.folder) opened.folder->write("summary.json", summary);
}

/// Returns sources of the validation set, each with the model's answer.
std::string answered_samples(const Made& run) {
  const auto& [context, started, opened, live] = run;
  const Answers answers = answer({.session = context.session,
                                  .engine = *live.engine,
                                  .config = started.config,
                                  .build = started.build(),
                                  .validation = *started.sets.validation,
                                  .tokenizer = *started.answer_tokenizer,
                                  .samples = started.config.evaluation.show_samples});
  std::istringstream sources(answers.sources), texts(answers.texts);
  std::string all, source, text;
  while (std::getline(sources, source) && std::getline(texts, text))
    all += (all.empty() ? "" : "\n\n") + source + "\n" + text;
  return all;
}

std::string continued_samples(const Made& run) {
  const auto& [context, started, opened, live] = run;
  writing::SampleOptions options = started.sample_options(context.session.threads());
  options.together = writing::decoding_ranks(context.session, live.engine->plan().request,
                                             live.engine->lane_comms());
  options.lent = memory_between_bodies(*live.engine);
  const launch::Lookout::Busy sampling(context.session.lookout());
  return writing::sample_text(live.engine->view(), context.session.peers(), started.build().recipe,
                              *started.sample_tokenizer, options);
}

void write_samples(const Made& run) {
  const std::string samples =
      run.started.samples_answer() ? answered_samples(run) : continued_samples(run);
  if (run.opened.folder) run.opened.folder->write("sample.txt", samples + "\n");
}

void report(const Made& run, const Outcome& outcome) {
  const auto& [context, started, opened, live] = run;
  context.enter(launch::Milestone::report);
  const RunConfig& config = started.config;
  state::Engine& engine = *live.engine;
  write_summary(run, outcome);
  context.say(state::lane_table(engine.lanes()));
  context.say(disk_text(disk_report(context.session.peers(), engine, started.report.forecast),
                        live.log ? live.log->seconds() : 0));
  if (config.evaluation.show_samples > 0 && outcome.stopped_by.empty()) {
    write_samples(run);
  }
  if (config.wall_clock_breakdown) {
    context.say(region_table(engine.executor().profile(), outcome.steps));
  }
  if (config.profile.trace) {
    write_trace(config.run.output + "/trace.json", context.session, started.build().plan,
                engine.executor().trace());
  }
}

/// Returns the command to type behind the program's name to try an exported model. A model that
/// lacks files of its tokenizer writes no texts yet.
std::string to_try(const RunConfig& config, const stored::ModelDescription& model, bool is_whole) {
  const auto& [family, numbers] = model.model;
  // A model that fills gaps cannot answer a text that a user would write.
  const bool writes = family->decode && !model.tokenizer.empty() && is_whole &&
                      model::objective_for(config).answers_users;
  if (!writes) return text("eval ", config.run.output);
  const bool is_odd = config.data.source_prefix.find_first_of("\"$`\\!") != std::string::npos;
  return text("generate ", config.run.output, " --prompt \"",
              is_odd ? "" : config.data.source_prefix, "In the beginning\"");
}

/// True if no later launch trains on.
bool is_complete(const RunConfig& config, const Outcome& outcome) {
  return outcome.stopped_by.empty() &&
         (outcome.steps >= config.run.steps || outcome.out_of_patience);
}

/// Exports only a finished training, because a run that goes on later lacks its last weights.
void export_model(const Made& run, const Outcome& outcome) {
  const auto& [context, started, opened, live] = run;
  const RunConfig& config = started.config;
  const std::string folder = config.run.output + "/model";
  if (!is_complete(config, outcome)) return;
  if (!started.exports_model()) {
    if (outcome.saved != outcome.steps) return;
    context.say(text("for its model: ", context.order.program, " export ", config.run.output, " ",
                     folder, "\n"));
    return;
  }
  stored::ModelDescription model = stored::describe_model(config, started.build(), started.sets);
  const bool has_own = started.settings.config.generation != GenerationConfig();
  if (!has_own) model.generation_text = started.kept.generation;
  model.origin = started.kept.origin;
  stored::export_model(live.engine->view(), context.session.peers(), folder, model);
  const std::string left_out = stored::tokenizer_left_out(model.tokenizer, folder);
  const std::string lack =
      left_out.empty() ? "" : text(", without all of its tokenizer; before it writes: ", left_out);
  context.say(text("model in ", folder, lack, "; try: ", context.order.program, ' ',
                   to_try(config, model, left_out.empty()), "\n"));
}

void require_saved(const Made& run, const Outcome& outcome) {
  const auto& [context, started, opened, live] = run;
  context.session.on_every_rank([&] {
    const int64_t last = outcome.saved;
    if (!context.session.is_first() || !opened.checkpointer || last == outcome.steps) return;
    refuse(Exit::kIo, ending(started.config, started.done(), outcome), ", but ",
           opened.checkpointer->last_failure(), "; ",
           last > 0 ? text("step ", last, " was saved last") : "no step is saved",
           " - mend that and start again");
  });
}

/// Returns the command that goes on, if the run ended before its last step and is saved; else "".
std::string how_to_go_on(const Started& started, const Outcome& outcome) {
  const RunConfig& config = started.config;
  const bool ended = outcome.steps >= config.run.steps && outcome.stopped_by.empty();
  if (ended || outcome.saved < outcome.steps || config.checkpoint.weights_only) return "";
  std::string how = "to go on: the same command";
  if (outcome.out_of_patience) {
    how += " with checkpoint.patience=0, or more of it";
  } else if (outcome.stopped_by.empty()) {
    how += " with run.stop_at=0, or a later step";
  }
  if (config.checkpoint.resume == Resume::never) {
    const bool typed = started.settings.origins.at("checkpoint.resume") == "command line";
    how += typed ? ", without checkpoint.resume=never" : ", with checkpoint.resume=auto";
  }
  return how + "\n";
}

}  // namespace

std::string ending(const RunConfig& config, int64_t done, const Outcome& outcome) {
  const std::string place = text(outcome.steps, " of ", config.run.steps);
  if (!outcome.stopped_by.empty()) {
    const bool may_be_typed =
        outcome.stopped_by == "SIGTERM" && launch::current_launch().turns_interrupts;
    return text("stopped by ", outcome.stopped_by,
                may_be_typed ? " (or Ctrl-C, which mpirun turns into it)" : "",
                outcome.steps > done ? " after step " + place : text(" before step ", done + 1));
  }
  const bool is_early = outcome.steps < config.run.steps;
  return text("finished step ", place,
              !is_early                 ? ""
              : outcome.out_of_patience ? " (checkpoint.patience)"
                                        : " (run.stop_at)");
}

void tell_launch(const RunFolder& folder, const std::string& ending) {
  if (launch::end_launch(folder.path(), ending)) return;
  warn("launches.jsonl could not be written");
}

void finish(const Made& run, const Outcome& outcome) {
  const auto& [context, started, opened, live] = run;
  report(run, outcome);
  export_model(run, outcome);
  require_saved(run, outcome);
  if (live.log) {
    live.log->end(is_complete(started.config, outcome) ? monitor::LaunchEnd::finished
                                                       : monitor::LaunchEnd::paused);
  }
  context.enter(launch::Milestone::end);
  const std::string words = ending(started.config, started.done(), outcome);
  const std::string lack = opened.checkpointer ? opened.checkpointer->lack_of_metric() : "";
  if (!lack.empty()) context.warn(lack);
  if (opened.folder) tell_launch(*opened.folder, words);
  context.say(text(words, "; ", started.config.run.output, "/summary.json\n"));
  context.say(how_to_go_on(started, outcome));
}

}  // namespace zero::train
