#include "zero/commands/command_program.hpp"

#include <csignal>
#include <cstdio>

#include "src/commands/commands.hpp"
#include "src/commands/prepare_command.hpp"
#include "zero/launch/console.hpp"
#include "zero/launch/failure.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::commands {
namespace {

int answer(const char* text) { return std::fputs(text, stdout) < 0 ? 1 : 0; }

/// Returns the function of a command on files, or null. A single process runs it, whatever number a
/// launcher has started.
int (*work_on_files(Command command))(const CommandLine&) {
  switch (command) {
    case Command::ls:
      return ls;
    case Command::fsck:
      return fsck;
    case Command::inspect:
      return inspect;
    case Command::metrics:
      return metrics;
    case Command::top:
      return top;
    case Command::why:
      return why;
    case Command::report:
      return report;
    case Command::export_model:
      return export_model;
    case Command::import_weights:
      return import_weights;
    case Command::score:
      return score;
    case Command::inputs:
      return usage::inputs;
    case Command::manual:
      return usage::manual;
    default:
      return nullptr;
  }
}

int run(int argc, char** argv, const model::Catalogue& catalogue) {
  // 1. Read the command line.
  CommandLine line = usage::read_command_line({argv + 1, argv + argc});
  line.program = argv[0];
  line.catalogue = &catalogue;

  // 2. Answer questions that need no peers.
  if (line.command == Command::help) return usage::help(line);
  if (line.command == Command::version) {
    return answer(("zeroapp " + version() + "\n").c_str());
  }
  if (line.command == Command::plan) return plan(line);
  const bool prepares = line.command == Command::data && !line.prepare.empty();
  if (line.command == Command::data && !prepares) return data(line);
  if (line.command == Command::explain) return explain(line);
  if (line.command == Command::import_deepspeed) return import_deepspeed(line);
  if (const auto work = work_on_files(line.command)) {
    return launch::current_launch().task > 0 ? 0 : work(line);
  }
  if (line.dry_run) return dry_run(line);

  // 3. Train, evaluate or examine, in an environment that libraries read before they start.
  launch::prepare_environment(argv);
  if (prepares) return prepare(line, argc, argv);
  if (line.command == Command::doctor) return doctor(line, argc, argv);
  if (line.command == Command::calibrate) return calibrate(line, argc, argv);
  if (line.command == Command::eval) return eval(line, argc, argv);
  if (line.command == Command::generate) return generate(line, argc, argv);
  if (line.command == Command::replay) return replay(line, argc, argv);
  return train(line, argc, argv);
}

}  // namespace

int run_program(int argc, char** argv, const model::Catalogue& catalogue) {
  launch::occupy_standard_files();
  launch::spare_addresses();
  // A write beyond the limit of a file's size (ulimit -f) fails with words, and does not kill the
  // process silently.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    launch::require_stack();
    return run(argc, argv, catalogue);
  } catch (const launch::Ended& ended) {
    // 4. Return the status of a failure that one rank has printed for all.
    return int(ended.exit);
  } catch (...) {
    // 5. Print an error that only this process knows of.
    const launch::Failure failure = launch::failure_of(std::current_exception());
    std::fputs(launch::error_line(failure).c_str(), stderr);
    return int(failure.exit);
  }
}

}  // namespace zero::commands
