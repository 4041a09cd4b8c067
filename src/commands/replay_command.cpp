#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/launch/session.hpp"
#include "zero/replay/replay.hpp"

namespace zero::commands {

int replay(const CommandLine& line, int& argc, char**& argv) {
  launch::require_joined_launch(launch::current_launch());
  launch::Session session(argc, argv);
  session.require_whole_launch();
  session.on_every_rank([&] {
    if (line.from_step >= 0) return;
    refuse(Exit::kUsage, "command line: no --from; write the step of a checkpoint, as ",
           "zeroapp ls ", line.input, " lists them");
  });
  const train::Order order{.catalogue = *line.catalogue,
                           .program = line.program,
                           .version = version(),
                           .input = line.input + "/effective.toml",
                           .overrides = line.overrides,
                           .start = launch::process_start()};
  session.end_all_on_error([&] {
    replay::replay(
        session, order,
        {.folder = line.input, .from = line.from_step, .to = line.to_step, .bisects = line.bisect});
  });
  return int(Exit::kFinished);
}

}  // namespace zero::commands
