#include "src/usage/command_table.hpp"
#include "zero/config/schedule.hpp"

namespace zero::usage {

Syntax replay_syntax() {
  using Line = CommandLine;
  return {
      .word = "replay",
      .command = Command::replay,
      .input = "RUN",
      .meaning =
          "RUN is the folder of a run. Nothing is written. Settings may say where states "
          "rest: a reproducible run is replayed on any ranks, at any stage and home.",
      .title = "takes steps of a run again and compares every bit",
      .options = {{.name = "--from",
                   .argument = "A",
                   .kind = Count{&Line::from_step, 0, kMostRunSteps, "number of steps"},
                   .text = "begin with the checkpoint of step A"},
                  {.name = "--to",
                   .argument = "B",
                   .kind = Count{&Line::to_step, 1, kMostRunSteps, "number of steps"},
                   .text = "the last step to compare",
                   .fallback = "the last one that the run took"},
                  {.name = "--bisect",
                   .argument = "",
                   .kind = &Line::bisect,
                   .text =
                       "halve what run.digest_interval kept until the first wrong step is left"}},
      .second = Second::settings,
      .examples = {"zeroapp replay runs/mine --from 40 --to 60",
                   "mpirun -n 4 zeroapp replay runs/mine --from 40 zero.stage=3",
                   "zeroapp replay runs/mine --from 1000 --to 2000 --bisect"},
      .ends = {Exit::kInput, Exit::kNoCheckpoint, Exit::kIo, Exit::kDoesNotFit, Exit::kNumerics,
               Exit::kRanksDisagree, Exit::kHang, Exit::kDevice}};
}

}  // namespace zero::usage
