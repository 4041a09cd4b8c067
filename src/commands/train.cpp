#include "zero/commands/train.hpp"

#include <algorithm>
#include <csignal>

#include "src/commands/train/run.hpp"
#include "zero/commands/plan.hpp"
#include "zero/train/process_start.hpp"

namespace zero::commands {

int train(const CommandLine& line, int& argc, char**& argv) {
  // A closed console must not end a run.
  std::signal(SIGPIPE, SIG_IGN);

  // 1. The ranks, and how they end together.
  train::require_joined_launch(train::current_launch());
  train::Session session(argc, argv);
  session.require_whole_launch();
  Run run(session, line, train::process_start());

  Exit status = Exit::kFinished;
  // An error that only this rank has seen must not leave its peers waiting.
  session.alone([&] {
    // 2. What is wanted, read alike by every rank; threads.
    run.read_input();
    // 3. The plan, which every rank compiles to the same bytes; whether it fits.
    run.compile_plan();
    // 4. Data, and the folder of the run.
    run.open_data_sets();
    run.open_folder();
    run.find_start();
    if (run.is_finished()) return;
    run.open_initial_weights();
    // 5. Memory, communicators, the state that it begins with.
    run.begin();
    run.introduce();
    // 6. The steps.
    run.train_steps();
    // 7. What came of it.
    run.report();
    run.export_model();
    run.require_saved();
    run.end();
    status = run.exit_status();
  });
  return int(status);
}

int dry_run(CommandLine line) {
  const train::Launch launch = train::current_launch();
  if (launch.task > 0) return int(Exit::kFinished);
  line.ranks = std::max<int64_t>(1, launch.tasks);
  line.command = Command::plan;
  return plan(line);
}

}  // namespace zero::commands
