#include "src/commands/train.hpp"

#include <algorithm>
#include <csignal>

#include "src/commands/plan.hpp"
#include "src/commands/train/run.hpp"
#include "zero/launch/process_start.hpp"
#include "zero/launch/stop_signal.hpp"

namespace zero::commands {

namespace {

/// Returns sooner where there is nothing to do, or a signal has come before the first step.
void work(Run& run) {
  // 2. What is wanted, read alike by every rank; threads.
  run.read_input();
  // 3. The plan, which every rank compiles to the same bytes; whether it fits.
  if (run.is_stopped()) return;
  run.compile_plan();
  // 4. Data, and the folder of the run.
  if (run.is_stopped()) return;
  run.open_data_sets();
  if (run.is_stopped()) return;
  run.open_folder();
  run.find_start();
  if (run.is_finished()) return;
  run.open_initial_weights();
  // 5. Memory, communicators, the state that it begins with.
  if (run.is_stopped()) return;
  run.begin();
  if (run.is_stopped()) return;
  run.introduce();
  // 6. The steps.
  if (run.is_stopped()) return;
  run.train_steps();
  // 7. What came of it.
  run.report();
  run.export_model();
  run.require_saved();
  run.end();
}

}  // namespace

int train(const CommandLine& line, int& argc, char**& argv) {
  // A closed console must not end a run.
  std::signal(SIGPIPE, SIG_IGN);
  const launch::StopSignal signals;

  // 1. The ranks, and how they end together.
  launch::require_joined_launch(launch::current_launch());
  launch::Session session(argc, argv);
  session.require_whole_launch();
  Run run(session, line, launch::process_start());
  // An error that only this rank has seen must not leave its peers waiting.
  session.alone([&] { work(run); });
  return int(run.exit_status());
}

int dry_run(CommandLine line) {
  const launch::Launch launch = launch::current_launch();
  if (launch.task > 0) return int(Exit::kFinished);
  line.ranks = std::max<int64_t>(1, launch.tasks);
  line.command = Command::plan;
  return plan(line);
}

}  // namespace zero::commands
