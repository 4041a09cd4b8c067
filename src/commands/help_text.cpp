#include "src/commands/commands.hpp"
#include "zero/base/text.hpp"

namespace zero::commands {
namespace {

constexpr const char* kCommands =
    R"( on MPI ranks with ZeRO stages 0 to 3: a compiled, verified plan.

  mpirun --mca odls_base_sigkill_timeout 2 -n 2 zeroapp INPUT.toml [key=value ...]
                                                      train; 4 s to save after Ctrl-C
  zeroapp INPUT.toml [key=value ...] --dry-run        compile the plan and print it
  zeroapp plan INPUT.toml [key=value ...]             memory, traffic, time: needs no peers or data
      --ranks N            ranks to plan for (1)
      --ranks-per-node M   of them on one node (as many as NAME or FILE has GPUs, else all)
      --threads N          of each rank on a host (as run.threads or the machine says)
      --machine NAME|FILE  host (default: with the rates of run.machine), titan_rtx_24g,
                           rtx_3090_24g, v100_32g, a100_40g, a100_80g, h100_80g, h200_141g,
                           b200_192g, or what calibrate wrote
      --max-batch          the largest train_micro_batch_size_per_gpu that fits
      --json               as one JSON object
  zeroapp data INPUT.toml [key=value ...]             files, formats, samples, fingerprint
      --steps A..B         and what the batches of these steps hold
      --from DIR           of a run that goes on from there, perhaps with another batch
      --ranks N            among N ranks (1)
      --decode             with their text
      --prepare DIR        write the documents of data.train as ids into DIR.documents, which
                           data.train then names; goes on where a killed one ended
      --json               as JSON, one object a sample with all its tokens
  zeroapp doctor, mpirun -n 2 zeroapp doctor          what this machine and its set-up give a run
      --scratch FOLDER     where to try writing (the current folder)
      --nvme FOLDER        measure its disk and recommend [aio]
      --card               only the NAME of plan --machine for this node's GPUs, or host
      --slurm INPUT --nodes M --gpus G   only the #SBATCH lines of a job of M x G ranks, on
                           --machine NAME or this one
      --json               as one JSON object
  zeroapp calibrate, mpirun -n 2 zeroapp calibrate    measure a machine for plan --machine FILE
      --nvme FOLDER        its disk too
      --out FILE           a new file (machine.toml)
  zeroapp eval DIR [key=value ...]                    loss on validation data, on any ranks
      --scores FILE        of models with labels: class, label and scores of each sample
      --json               as one JSON object
  zeroapp generate DIR --prompt TEXT                  continue a text, or answer it
      --prompt-file FILE   instead of --prompt
      --input FILE         a text for each line of it, to --output FILE or standard output
      --batch N            lines that are worked on at a time (8)
      --first-line N       of the input, to go on behind texts that are there
      --ids                ids of tokens in place of texts
      --chat               talk with a model that answers; --persona TEXT says who it is
                           ("your persona: " is put in front if its training had that)
         What is not written below is what the model's generation_config.json says, else (this).
      --tokens N           how many at most (200), or --max-length N with what was there before
      --min-length N, --min-new-tokens N   no end before
      --num-beams N        search with N beams (1)
      --length-penalty P   of beams: above 0 longer texts are better (1)
      --early-stopping W   of beams: no, yes or never (no)
      --temperature T      0 takes the likeliest, 0.8 draws (0)
      --top-k K            draw among the K likeliest, 0: all (all)
      --top-p P            draw among the likeliest that together have probability P
      --repetition-penalty R      tokens that are there already become less likely above 1
      --no-repeat-ngram-size N    no N tokens in a row come twice
      --encoder-no-repeat-ngram-size N    nor once if the source has them
      --forced-bos-token-id I, --forced-eos-token-id I    the first token, the last possible one
      --suppress-tokens I,J,...   never these; --begin-suppress-tokens: not at the beginning
      --seed S             draw others
  zeroapp score TEXTS REFERENCES [--json]             BLEU and exact matches, line by line
  zeroapp ls DIR                                      checkpoints, and which one a run goes on from
      --quick              without reading every block
      --json               as one JSON object
  zeroapp fsck DIR                                    checks every digest; status 4 if none verifies
      --json               as one JSON object
  zeroapp inspect A [B] [--json]                      tensors, statistics; how two of them differ
  zeroapp export DIR OUT                              a checkpoint as Hugging Face has it
      --format F           safetensors (default) or hdf5
      --dtype T            fp32, bf16 or fp16 (as it was trained)
      --max-shard-size S   of a file of weights (5GB)
  zeroapp import-weights MODEL_DIR OUT                a Hugging Face )";

constexpr const char* kMoreCommands =
    R"( as a checkpoint of step 0
  zeroapp import-deepspeed FILE [key=value ...]       DeepSpeed's or Accelerate's file to TOML
      -o, --output NEW     into a new file
      --leave-out-unsupported   keys that ask for what is not done, instead of refusing them
      --hf-defaults        "auto" has the default of Transformers' TrainingArguments
      -- WORDS             the launch line: its flags fill "auto" and win over Accelerate's file
  zeroapp --help | --version

DIR: a run, its folder of checkpoints, or one of them; of eval and generate also a model folder.
inputs/reference.toml explains every key; )";

constexpr const char* kExitStatus =
    R"( is a run of three minutes.
Exit status: 0 finished, 2 usage or configuration, 3 input data, 4 no checkpoint that verifies,
5 I/O, 6 does not fit in memory, 7 numerics, 8 ranks disagree, 9 in use, 10 hang, 11 internal.
)";

}  // namespace

std::string help_text(const model::Catalogue& catalogue) {
  const std::string models = catalogue.titles();
  return text("zeroapp trains a ", models, kCommands, models, kMoreCommands,
              catalogue.models.front().example_input, kExitStatus);
}

std::string version() { return ZERO_VERSION; }

}  // namespace zero::commands
