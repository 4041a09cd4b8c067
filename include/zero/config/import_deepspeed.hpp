#pragma once

#include <span>
#include <string>
#include <vector>

#include "zero/config/read_config.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

struct DeepSpeedImport {
  std::string toml;  ///< an input file for read_config(); "" if `refused` is not empty
  std::vector<std::string> report;       ///< a line for each key of the source and each added value
  std::vector<std::string> needs;        ///< keys that the source leaves open, as "run.steps=..."
  std::vector<std::string> refused;      ///< lines about wrong and unsupported keys
  std::vector<std::string> launch_line;  ///< words to show, with HIDDEN for secrets
};

/// The treatment of a key that asks for an unsupported feature.
enum class Unsupported { refuse, leave_out };

struct ImportOptions {
  /// Settings "section.key=value". They win over the source and fill what it leaves open.
  std::span<const std::string> overrides = {};
  /// Words of the command that starts the original training, launcher included: flags of
  /// `accelerate launch` and of Transformers' TrainingArguments, "--learning_rate", "5e-5". Other
  /// words and the script's own flags set nothing and are reported. If such a flag may mean a key,
  /// as "--lr" may, the key stays open.
  std::span<const std::string> launch_line = {};
  /// True: keys that neither source nor flags set get the defaults of TrainingArguments.
  bool hf_defaults = false;
  Unsupported unsupported = Unsupported::refuse;
  std::string name = "INPUT.toml";  ///< name of the input file in the report
  StartReader start = {};  ///< finds the numbers of model.init_from, which the import does not copy
};

/// Translates a configuration file into an input file. `path` is a DeepSpeed JSON file or
/// Accelerate's configuration in YAML (*.yaml, *.yml) or JSON. Accelerate's may be for DeepSpeed,
/// FSDP or plain data parallelism. A DeepSpeed file that it names is searched in the working folder
/// and beside it. `models` is the table of [model]. A value of "auto" comes from the launch line or
/// is derived as in Transformers: reduce_bucket_size = width^2, stage3_prefetch_bucket_size = 0.9
/// width^2, stage3_param_persistence_threshold = 10 width, warmup_max_lr = lr, warmup_min_lr = 0,
/// total_num_steps = run.steps. Other "auto" values are listed in `needs`. DeepSpeed's defaults
/// that differ from ours are written out. read_config() refuses an open value in `toml` and names
/// its line. Throws Error(kUsage) if a file cannot be read or has another form.
DeepSpeedImport import_deepspeed(const ModelTable& models, const std::string& path,
                                 const ImportOptions& options);

}  // namespace zero
