#include "src/usage/command_table.hpp"

#include <algorithm>

#include "zero/comm/communicator.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::usage {
namespace {

using Line = CommandLine;

constexpr std::string_view kInput = "INPUT.toml";
constexpr std::string_view kStored = "DIR is a run, its folder of checkpoints, or one of them.";
constexpr std::string_view kModel =
    "DIR is a run, its folder of checkpoints, one of them, or a model folder.";

Option json(std::string_view text = "as one JSON object") {
  return {.name = "--json", .argument = "", .kind = &Line::json, .text = text};
}

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
      json(),
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
          json("as JSON, one object a sample with all its tokens")};
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
          json()};
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

Syntax eval_syntax() {
  return {.word = "eval",
          .command = Command::eval,
          .input = "DIR",
          .meaning = kModel,
          .title = "loss on validation data, on any ranks",
          .options = {{.name = "--scores",
                       .argument = "FILE",
                       .kind = &Line::scores,
                       .text = "of labels: class, label, scores; choices: chosen, answer, scores"},
                      json()},
          .second = Second::settings,
          .examples = {"zeroapp eval runs/mine",
                       "mpirun -n 2 zeroapp eval runs/mine data.validation=held_out.txt",
                       "zeroapp eval MODEL data.train=a.txt data.validation_fraction=0.1 --json"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo, Exit::kDoesNotFit,
                   Exit::kRanksDisagree, Exit::kDevice}};
}

Syntax generate_syntax() {
  return {.word = "generate",
          .command = Command::generate,
          .input = "DIR",
          .meaning = "An option that is left out is as generation_config.json says, else (this).",
          .title = "continues a text, or answers it",
          .options = generate_options(),
          .second = Second::settings,
          .examples = {"zeroapp generate runs/mine --prompt \"In the beginning\"",
                       "zeroapp generate runs/mine --input questions.txt --output answers.txt",
                       "zeroapp generate runs/mine --chat --temperature 0.8"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo, Exit::kDoesNotFit, Exit::kDevice}};
}

Syntax score_syntax() {
  return {.word = "score",
          .command = Command::score,
          .input = "TEXTS",
          .meaning = "TEXTS and REFERENCES are files with as many lines, or pipes.",
          .title = "BLEU and exact matches of texts, line by line",
          .options = {json()},
          .second = Second::required,
          .second_name = "REFERENCES",
          .examples = {"zeroapp score answers.txt references.txt",
                       "zeroapp score answers.txt references.txt --json",
                       "zeroapp generate DIR --input questions.txt | zeroapp score /dev/stdin "
                       "references.txt"},
          .ends = {Exit::kInput}};
}

Syntax ls_syntax() {
  return {.word = "ls",
          .command = Command::ls,
          .input = "DIR",
          .meaning = kStored,
          .title = "checkpoints, and which one a run goes on from",
          .options = {{.name = "--quick",
                       .argument = "",
                       .kind = &Line::quick,
                       .text = "without reading every block"},
                      json()},
          .examples = {"zeroapp ls runs/mine", "zeroapp ls runs/mine --quick",
                       "zeroapp ls runs/mine/checkpoints --json"},
          .ends = {Exit::kInput, Exit::kIo}};
}

Syntax fsck_syntax() {
  return {.word = "fsck",
          .command = Command::fsck,
          .input = "DIR",
          .meaning = kStored,
          .title = "checks every digest of checkpoints",
          .options = {json()},
          .examples = {"zeroapp fsck runs/mine", "zeroapp fsck runs/mine --json",
                       "zeroapp fsck runs/mine/checkpoints/step00000005"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

Syntax inspect_syntax() {
  return {.word = "inspect",
          .command = Command::inspect,
          .input = "A",
          .meaning = "A and B are runs, checkpoints or model folders.",
          .title = "tensors and their statistics; how two of them differ",
          .options = {json()},
          .second = Second::optional,
          .second_name = "B",
          .examples = {"zeroapp inspect runs/mine", "zeroapp inspect MODEL runs/mine",
                       "zeroapp inspect MODEL --json"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

Syntax export_syntax() {
  return {
      .word = "export",
      .command = Command::export_model,
      .input = "DIR",
      .meaning = "DIR is a run, its folder of checkpoints, or one of them; OUT a new folder.",
      .title = "a checkpoint as a model folder of Hugging Face",
      .options = {{.name = "--format",
                   .argument = "F",
                   .kind = OneOfWords{&Line::format, {"safetensors", "hdf5"}},
                   .text = "safetensors or hdf5",
                   .fallback = "safetensors"},
                  {.name = "--dtype",
                   .argument = "T",
                   .kind = OneOfWords{&Line::dtype, {"fp32", "bf16", "fp16"}},
                   .text = "fp32, bf16 or fp16",
                   .fallback = "as it was trained"},
                  {.name = "--max-shard-size",
                   .argument = "S",
                   .kind = &Line::shard_bytes,
                   .text = "of a file of weights",
                   .fallback = "5GB"}},
      .second = Second::required,
      .second_name = "OUT",
      .examples = {"zeroapp export runs/mine model", "zeroapp export runs/mine model --dtype bf16",
                   "zeroapp export runs/mine model --format hdf5"},
      .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

Syntax import_weights_syntax() {
  return {.word = "import-weights",
          .command = Command::import_weights,
          .input = "MODEL_DIR",
          .meaning = "model.init_from takes a model folder without this, too.",
          .title = "a model folder of Hugging Face as a checkpoint of step 0",
          .second = Second::required,
          .second_name = "OUT",
          .examples = {"zeroapp import-weights MODEL weights",
                       "zeroapp import-weights /models/base start",
                       "zeroapp INPUT.toml model.init_from=weights"},
          .ends = {Exit::kInput, Exit::kIo}};
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

std::span<const Syntax> commands() {
  static const std::vector<Syntax> all = {
      train_syntax(),    plan_syntax(),           data_syntax(),
      doctor_syntax(),   calibrate_syntax(),      eval_syntax(),
      generate_syntax(), score_syntax(),          ls_syntax(),
      fsck_syntax(),     inspect_syntax(),        export_syntax(),
      inputs_syntax(),   import_weights_syntax(), import_deepspeed_syntax(),
      help_syntax(),     manual_syntax()};
  return all;
}

}  // namespace zero::usage
