#pragma once

#include <span>
#include <string>

#include "src/config/import/nested_file.hpp"

namespace zero {

inline constexpr const char* kLaunchLine = "launch line";  ///< place of its entries

/// A command that starts the original training, as its programs parse it.
struct LaunchLine {
  /// Flags "--name" of the script and of launchers. A word without a flag, such as the script's
  /// name, is an entry without a value and with itself as its key.
  Source flags;
  Source accelerate;           ///< flags of `accelerate launch`, by configuration key
  bool by_accelerate = false;  ///< true: `accelerate launch` starts the training
  std::string settings;        ///< JSON or YAML file passed to the script instead of flags
};

/// Parses the words of a command as argparse does: "--name value", "--name=value", or "--name"
/// alone, which is true. Names are written with underscores. A unique prefix stands for a flag of
/// TrainingArguments, deepspeed or torchrun; `accelerate launch` accepts whole names only. Flags in
/// front of the script belong to its launcher. Flags that make one value are joined: betas as
/// --adam_beta1, a share of all steps as --warmup_ratio. The word offload of a strategy becomes
/// --fsdp:optimizer and --fsdp:parameters. Throws Error(kUsage) if a flag is repeated, there are
/// too many, or a word is invalid in a command.
LaunchLine read_launch_line(std::span<const std::string> words);

/// Replaces --warmup_ratio, a share of `steps`, by a number of updates, rounded up as in
/// Transformers. Leaves the share, a real number, if `steps` is 0.
void resolve_shares(Source& flags, int64_t steps);

}  // namespace zero
