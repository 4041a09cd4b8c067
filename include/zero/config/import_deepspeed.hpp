#pragma once

#include <span>
#include <string>
#include <vector>

#include "zero/config/read_config.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

struct DeepSpeedImport {
  std::string toml;                  ///< an input file for read_config(); "" if `refused` is not
  std::vector<std::string> report;   ///< a line for each key of the source and each added value
  std::vector<std::string> needs;    ///< keys that the source leaves open, as "run.steps=..."
  std::vector<std::string> refused;  ///< lines on wrong and unsupported keys
  std::vector<std::string> launch_line;  ///< its words to be shown: HIDDEN stands for a secret
};

/// What is done with a key that asks for what the program does not do.
enum class Unsupported { refuse, leave_out };

struct ImportOptions {
  /// "section.key=value" of an input file; they win, and give what the source leaves open.
  std::span<const std::string> overrides = {};
  /// The words of the command that starts the training there, with its launcher: flags of
  /// `accelerate launch` and of Transformers' TrainingArguments, "--learning_rate", "5e-5". What is
  /// no flag, and flags that only the training script knows, set nothing and are named; a key that
  /// one of those may mean, "--lr", stays open.
  std::span<const std::string> launch_line = {};
  /// What neither says has the default of TrainingArguments.
  bool hf_defaults = false;
  Unsupported unsupported = Unsupported::refuse;
  std::string name = "INPUT.toml";  ///< what the report calls the input file
  StartReader start = {};           ///< finds the numbers of model.init_from, which stay its own
};

/// Translates a DeepSpeed JSON file, or Accelerate's configuration, YAML (named *.yaml or *.yml) or
/// JSON, for DeepSpeed, with the file that it names, found from the working folder or beside it,
/// for FSDP or for plain data parallelism. A value of "auto" is taken from the launch line, or
/// derived as Transformers does: reduce_bucket_size = width^2, stage3_prefetch_bucket_size = 0.9
/// width^2, stage3_param_persistence_threshold = 10 width, warmup_max_lr = lr, warmup_min_lr = 0,
/// total_num_steps = run.steps; the rest is needed. DeepSpeed's defaults that differ from ours are
/// written out. An open value stands in `toml` such that read_config() refuses it with its line.
/// Throws Error(kUsage) if a file cannot be read or has no such form.
DeepSpeedImport import_deepspeed(const ModelTable& models, const std::string& path,
                                 const ImportOptions& options);

}  // namespace zero
