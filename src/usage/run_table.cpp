#include "src/usage/command_table.hpp"

namespace zero::usage {
namespace {

using Line = CommandLine;

constexpr std::string_view kStored = "DIR is a run, its folder of checkpoints, or one of them.";

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
                      json_option()},
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
          .options = {json_option()},
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
          .options = {json_option()},
          .second = Second::optional,
          .second_name = "B",
          .examples = {"zeroapp inspect runs/mine", "zeroapp inspect MODEL runs/mine",
                       "zeroapp inspect MODEL --json"},
          .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo}};
}

}  // namespace

std::vector<Syntax> run_commands() { return {ls_syntax(), fsck_syntax(), inspect_syntax()}; }

}  // namespace zero::usage
