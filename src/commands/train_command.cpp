#include <algorithm>
#include <csignal>

#include "src/commands/commands.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/stop.hpp"
#include "zero/train/run.hpp"

namespace zero::commands {

int train(const CommandLine& line, int& argc, char**& argv) {
  // A closed console must not end a run.
  std::signal(SIGPIPE, SIG_IGN);
  const launch::StopSignal signals;

  // Join the ranks, which end together.
  launch::require_joined_launch(launch::current_launch());
  launch::Session session(argc, argv);
  session.require_whole_launch();
  return int(train::run(session, {.catalogue = *line.catalogue,
                                  .program = line.program,
                                  .version = version(),
                                  .input = line.input,
                                  .overrides = line.overrides,
                                  .start = launch::process_start()}));
}

int dry_run(CommandLine line) {
  const launch::Launch launch = launch::current_launch();
  if (launch.task > 0) return int(Exit::kFinished);
  line.ranks = std::max<int64_t>(1, launch.tasks);
  line.command = Command::plan;
  return plan(line);
}

}  // namespace zero::commands
