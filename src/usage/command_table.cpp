#include "src/usage/command_table.hpp"

#include "zero/comm/communicator.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::usage {
namespace {

using Line = CommandLine;

constexpr std::string_view kInput = "INPUT.toml";

Option ranks_option(std::string_view text) {
  return {.name = "--ranks",
          .argument = "N",
          .kind = Count{&Line::ranks, 1, comm::kMostRanks, "number of ranks"},
          .text = text,
          .fallback = "1"};
}

Syntax train_syntax() {
  return {.word = "train",
          .command = Command::train,
          .input = kInput,
          .meaning =
              "The word train may be left out. A launcher starts the ranks; a second start "
              "goes on from the last checkpoint.",
          .title = "trains on the ranks of a launcher",
          .options = {{.name = "--dry-run",
                       .argument = "",
                       .kind = &Line::dry_run,
                       .text = "compile the plan and print it"}},
          .second = Second::settings,
          .examples = {"mpirun --mca odls_base_sigkill_timeout 2 -n 2 zeroapp INPUT.toml",
                       "srun --mpi=pmix -n 8 zeroapp INPUT.toml zero.stage=3 run.steps=1000",
                       "zeroapp train INPUT.toml --dry-run"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo, Exit::kDoesNotFit, Exit::kNumerics,
                   Exit::kRanksDisagree, Exit::kInUse, Exit::kHang, Exit::kDevice, Exit::kRequeue}};
}

std::vector<Option> plan_options() {
  return {
      ranks_option("ranks to plan for"),
      {.name = "--ranks-per-node",
       .argument = "M",
       .kind = Count{&Line::ranks_per_node, 1, comm::kMostRanks, "number of ranks"},
       .text = "of them on one node",
       .fallback = "as many as NAME or FILE has GPUs, else all"},
      {.name = "--threads",
       .argument = "N",
       .kind = Count{&Line::threads, 1, launch::kMostThreads, "number of threads"},
       .text = "of each rank on a host",
       .fallback = "as run.threads or the machine says"},
      {.name = "--machine",
       .argument = "NAME|FILE",
       .kind = &Line::machine,
       .text = "a file of calibrate, a name above, or host",
       .fallback = "host, by run.machine"},
      {.name = "--max-batch",
       .argument = "",
       .kind = &Line::max_batch,
       .text = "the largest train_micro_batch_size_per_gpu that fits"},
      json_option(),
  };
}

Syntax plan_syntax() {
  return {.word = "plan",
          .command = Command::plan,
          .input = kInput,
          .meaning = "Compiles a step for any ranks and machine. It needs no peers, data or GPU.",
          .title = "memory, traffic and time of a step, before a run",
          .options = plan_options(),
          .second = Second::settings,
          .examples = {"zeroapp plan INPUT.toml --ranks 8 --machine h100_80g zero.stage=3",
                       "zeroapp plan INPUT.toml --max-batch",
                       "zeroapp plan INPUT.toml --json model.dropout=0"},
          .ends = {Exit::kInput, Exit::kDoesNotFit}};
}

std::vector<Option> data_options() {
  return {{.name = "--steps",
           .argument = "A..B",
           .kind = &Line::steps,
           .text = "and what the batches of these steps hold"},
          {.name = "--from",
           .argument = "DIR",
           .kind = &Line::from,
           .text = "of a run that goes on from there, perhaps with another batch"},
          ranks_option("among N ranks"),
          {.name = "--decode", .argument = "", .kind = &Line::decode, .text = "with their text"},
          {.name = "--prepare",
           .argument = "DIR",
           .kind = &Line::prepare,
           .text = "write the documents of data.train as ids into DIR, a new NAME.documents, which "
                   "data.train then names; goes on where a killed one ended"},
          json_option("as JSON, one object a sample with all its tokens")};
}

Syntax data_syntax() {
  return {.word = "data",
          .command = Command::data,
          .input = kInput,
          .meaning = "Reads the data as training would. zeroapp help [data] lists the keys.",
          .title = "files, formats, samples and fingerprint of the data",
          .options = data_options(),
          .second = Second::settings,
          .examples = {"zeroapp data INPUT.toml", "zeroapp data INPUT.toml --steps 1..3 --decode",
                       "zeroapp data INPUT.toml --prepare data/web.documents"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

std::vector<Option> doctor_options() {
  return {{.name = "--scratch",
           .argument = "FOLDER",
           .kind = &Line::scratch,
           .text = "where to try writing",
           .fallback = "the current folder"},
          {.name = "--nvme",
           .argument = "FOLDER",
           .kind = &Line::nvme,
           .text = "measure its disk and recommend [aio]"},
          {.name = "--card",
           .argument = "",
           .kind = &Line::card,
           .text = "only the NAME of plan --machine for this node's GPUs, or host"},
          {.name = "--placement",
           .argument = "",
           .kind = &Line::placement,
           .text = "only node, device, cores and memory of each rank, and what is wrong with them"},
          {.name = "--slurm",
           .argument = "INPUT.toml",
           .kind = &Line::input,
           .text = "only the #SBATCH lines of a job"},
          {.name = "--nodes",
           .argument = "M",
           .kind = Count{&Line::nodes, 1, comm::kMostRanks, "number of nodes"},
           .text = "of that job"},
          {.name = "--gpus",
           .argument = "G",
           .kind = Count{&Line::gpus, 1, comm::kMostRanks, "number of GPUs"},
           .text = "ranks of that job on each node"},
          {.name = "--machine",
           .argument = "NAME|FILE",
           .kind = &Line::machine,
           .text = "what that job runs on; else this machine"},
          json_option()};
}

Syntax doctor_syntax() {
  return {.word = "doctor",
          .command = Command::doctor,
          .meaning = "Ranks of a launcher examine their nodes together.",
          .title = "what this machine and its set-up give a run",
          .options = doctor_options(),
          .examples = {"zeroapp doctor", "mpirun -n 2 zeroapp doctor",
                       "srun --mpi=pmix -N 1 -n 4 zeroapp doctor --nvme /local/scratch"},
          .ends = {Exit::kIo, Exit::kDoesNotFit, Exit::kRanksDisagree, Exit::kDevice}};
}

Syntax calibrate_syntax() {
  return {.word = "calibrate",
          .command = Command::calibrate,
          .meaning = "Takes some 15 seconds on the ranks of a launcher.",
          .title = "measures a machine for plan --machine and run.machine",
          .options = {{.name = "--nvme",
                       .argument = "FOLDER",
                       .kind = &Line::nvme,
                       .text = "its disk too"},
                      {.name = "--out",
                       .argument = "FILE",
                       .kind = &Line::output,
                       .text = "a new file",
                       .fallback = "machine.toml"}},
          .examples = {"zeroapp calibrate", "mpirun -n 2 zeroapp calibrate --out node.toml",
                       "zeroapp calibrate --nvme /local/scratch"},
          .ends = {Exit::kIo, Exit::kDoesNotFit, Exit::kRanksDisagree, Exit::kDevice}};
}

Syntax import_deepspeed_syntax() {
  return {.word = "import-deepspeed",
          .command = Command::import_deepspeed,
          .input = "FILE",
          .meaning =
              "FILE is a JSON file of DeepSpeed, or a YAML or JSON file of Accelerate. Words "
              "behind -- are the launch line: its flags fill \"auto\" and win over "
              "Accelerate's file.",
          .title = "a file of DeepSpeed or Accelerate as an input file",
          .options = {{.name = "--output",
                       .argument = "NEW",
                       .kind = &Line::output,
                       .text = "into a new file",
                       .short_name = "-o"},
                      {.name = "--leave-out-unsupported",
                       .argument = "",
                       .kind = &Line::leave_out_unsupported,
                       .text = "keys that ask for what is not done, instead of refusing them"},
                      {.name = "--hf-defaults",
                       .argument = "",
                       .kind = &Line::hf_defaults,
                       .text = "\"auto\" has the default of Transformers' TrainingArguments"}},
          .second = Second::settings,
          .trailing = &Line::launch_line,
          .examples = {"zeroapp import-deepspeed ds_config.json run.steps=1000 -o mine.toml",
                       "zeroapp import-deepspeed accelerate.yaml -- train.py --learning_rate 1e-4",
                       "zeroapp import-deepspeed ds_config.json --hf-defaults"},
          .ends = {Exit::kInput, Exit::kIo}};
}

Syntax inputs_syntax() {
  return {
      .word = "inputs",
      .command = Command::inputs,
      .input = "[NAME]",
      .meaning = "A printed file begins one's own; zeroapp help KEY explains its keys.",
      .title = "lists the input files that come along, or prints one",
      .examples = {"zeroapp inputs", "zeroapp inputs NAME > mine.toml", "zeroapp inputs reference"},
      .ends = {Exit::kInput}};
}

Syntax help_syntax() {
  return {.word = "help",
          .command = Command::help,
          .input = "[COMMAND|KEY]",
          .meaning =
              "A key may be named by its last part, its [section], or as DeepSpeed or "
              "Transformers call it.",
          .title = "explains a command, a key or a section of an input file",
          .options = {{.name = "--search",
                       .argument = "WORDS",
                       .kind = &Line::search,
                       .text = "commands, options and keys whose texts have all the words"}},
          .examples = {"zeroapp help plan", "zeroapp help zero.stage",
                       "zeroapp help --search learning rate"}};
}

Syntax manual_syntax() {
  return {.word = "manual",
          .command = Command::manual,
          .input = "OUT",
          .meaning = "cmake --install puts them where man and shells look.",
          .title = "writes manual pages and completions of shells to a new folder",
          .examples = {"zeroapp manual build/manual", "man -l build/manual/man1/zeroapp.1",
                       "source build/manual/completions/zeroapp.bash"},
          .ends = {Exit::kIo}};
}

}  // namespace

Option json_option(std::string_view text) {
  return {.name = "--json", .argument = "", .kind = &CommandLine::json, .text = text};
}

std::span<const Syntax> commands() {
  static const std::vector<Syntax> all = [] {
    std::vector<Syntax> rows = {train_syntax(), plan_syntax(), data_syntax(), doctor_syntax(),
                                calibrate_syntax()};
    for (const std::vector<Syntax>& more :
         {model_commands(),
          run_commands(),
          {replay_syntax(), inputs_syntax(), import_deepspeed_syntax(), help_syntax(),
           manual_syntax()}}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace zero::usage
