#include "src/usage/command_table.hpp"

namespace zero::usage {
namespace {

using Line = CommandLine;

constexpr std::string_view kModel =
    "DIR is a run, its folder of checkpoints, one of them, or a model folder.";

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
                      json_option()},
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
          .options = {json_option()},
          .second = Second::required,
          .second_name = "REFERENCES",
          .examples = {"zeroapp score answers.txt references.txt",
                       "zeroapp score answers.txt references.txt --json",
                       "zeroapp generate DIR --input questions.txt | zeroapp score /dev/stdin "
                       "references.txt"},
          .ends = {Exit::kInput}};
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

}  // namespace

std::vector<Syntax> model_commands() {
  return {eval_syntax(), generate_syntax(), score_syntax(), export_syntax(),
          import_weights_syntax()};
}

}  // namespace zero::usage
