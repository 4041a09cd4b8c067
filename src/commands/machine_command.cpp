#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/device/device.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/session.hpp"
#include "zero/machine/machine.hpp"

namespace zero::commands {
namespace {

constexpr const char* kDefaultFile = "machine.toml";

void require_new_file(const std::string& path) {
  if (is_taken(path, Exit::kUsage)) {
    refuse(Exit::kUsage, path, ": exists and is not overwritten; choose another name by --out");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string around = folder.empty() ? "." : folder.string();
  if (access(around.c_str(), W_OK) != 0) {
    refuse(Exit::kUsage, path, ": no file can be made in ", around, "; write another --out");
  }
}

/// Refuses a bad file or folder before anything is measured.
void check(const CommandLine& line, const std::string& file, const launch::Session& session) {
  if (session.is_first()) require_new_file(file);
  if (line.nvme) tiers::DiskFiles({.folders = {*line.nvme}});
}

machine::Measurements measure(const CommandLine& line, launch::Session& session) {
  machine::Measurements made(session, line.catalogue->families);
  made.products();
  made.memory();
  made.steps();
  made.copies();
  made.collectives();
  if (line.nvme) made.disk(*line.nvme);
  return made;
}

void print_and_write(const machine::Measurements& made, const std::string& path) {
  const advise::MachineFigures& figures = made.figures();
  std::printf("zeroapp %s on host %s: ranks x threads: %lld x %lld, all at one time\n%s",
              version().c_str(), figures.host.c_str(), (long long)figures.ranks,
              (long long)figures.threads, made.table().c_str());
  std::fflush(stdout);
  OutputFile file(path);
  file.write(advise::machine_text(figures));
  file.publish();
  std::printf("written: %s, for zeroapp plan INPUT.toml --machine %s, or run.machine = \"%s\"\n",
              path.c_str(), path.c_str(), path.c_str());
}

}  // namespace

namespace {

/// Refuses other options beside --placement.
void check_placement_options(const CommandLine& line) {
  const bool scratch = line.scratch != CommandLine().scratch;
  if (!line.placement || !(line.card || line.nvme || scratch || !line.input.empty())) return;
  refuse(Exit::kUsage, "command line: --placement: prints nothing but places of ranks; leave out ",
         line.card   ? "--card"
         : line.nvme ? "--nvme"
         : scratch   ? "--scratch"
                     : "--slurm");
}

/// Refuses options of --slurm without it, and others with it.
void check_slurm_options(const CommandLine& line) {
  const bool of_slurm = line.nodes > 0 || line.gpus > 0 || !line.machine.empty();
  if (line.input.empty() && of_slurm) {
    refuse(Exit::kUsage, "command line: --nodes, --gpus and --machine belong to zeroapp doctor ",
           "--slurm; write --slurm INPUT.toml");
  }
  if (!line.input.empty() && (line.nodes == 0 || line.gpus == 0)) {
    refuse(Exit::kUsage, "command line: --slurm: the job has no size; write --nodes M --gpus G");
  }
  const bool scratch = line.scratch != CommandLine().scratch;
  if (!line.input.empty() && (line.card || line.json || line.nvme || scratch)) {
    refuse(Exit::kUsage, "command line: --slurm: prints nothing but #SBATCH lines; leave out ",
           line.card   ? "--card"
           : line.json ? "--json"
           : line.nvme ? "--nvme"
                       : "--scratch");
  }
}

}  // namespace

int doctor(const CommandLine& line, int& argc, char**& argv) {
  check_placement_options(line);
  check_slurm_options(line);
  if (!line.input.empty()) return slurm_job(line);
  if (line.card) {
    // Batch scripts call this before MPI is available, so MPI is not started.
    std::printf("%s\n", machine::card_name(drives_devices(), usable_devices(), device_trouble(),
                                           exit_of_device_trouble())
                            .c_str());
    return 0;
  }
  const launch::Launch launch = launch::current_launch();
  // MPI itself would end these ranks without a helpful word.
  launch::require_joined_launch(launch);
  launch::Session session(argc, argv);
  // If every task became a job of its own, the first speaks for all.
  if (launch.tasks > session.ranks() && launch.task > 0) return int(Exit::kUsage);
  // A missing folder is a mistake on the command line and no finding.
  session.on_every_rank([&] {
    if (line.nvme && session.leads_node()) tiers::DiskFiles({.folders = {*line.nvme}});
  });
  Exit status = Exit::kFinished;
  session.end_all_on_error([&] {
    const machine::Examination found =
        line.placement ? machine::examine_placement(session)
                       : machine::examine(session, {.scratch = line.scratch, .nvme = line.nvme});
    status = found.status;
    if (!session.is_first()) return;
    const std::string out =
        line.json ? found.json
                  : "zeroapp " + version() + " on host " + session.host() + "\n" + found.table;
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
  });
  return int(status);
}

int calibrate(const CommandLine& line, int& argc, char**& argv) {
  const std::string file = line.output.empty() ? kDefaultFile : line.output;
  launch::require_joined_launch(launch::current_launch());
  launch::Session session(argc, argv);
  session.require_whole_launch();
  session.on_every_rank([&] { check(line, file, session); });
  session.end_all_on_error([&] {
    session.start_threads(0, true);
    const machine::Measurements made = measure(line, session);
    if (session.is_first()) print_and_write(made, file);
  });
  return 0;
}

}  // namespace zero::commands
