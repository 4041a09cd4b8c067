#pragma once

#include <span>
#include <string>

#include "src/config/import/source.hpp"

namespace zero {

inline constexpr const char* kLaunchLine = "launch line";  ///< the place of its entries

/// A command that starts a training there, as the programs in it read it.
struct LaunchLine {
  /// Flags of the script and of launchers: "--name". A word that belongs to no flag, such as the
  /// name of the script, is an entry without a value and with itself as its key.
  Source flags;
  Source accelerate;           ///< flags of `accelerate launch`, by the keys of its configuration
  bool by_accelerate = false;  ///< `accelerate launch` starts it
  std::string settings;  ///< a JSON or YAML file that is given to the script in place of flags
};

/// Reads the words of a command as argparse does: "--name value", "--name=value", or "--name"
/// alone, which is true. Names are written with underscores, and the only beginning of a flag of
/// TrainingArguments, of deepspeed or of torchrun stands for the flag; `accelerate launch` takes
/// whole names alone. Flags in front of the script are its launcher's. Flags that make one value
/// are one: the betas under --adam_beta1, a share of all steps under --warmup_ratio. A strategy's
/// word offload becomes flags of its own, --fsdp:optimizer and --fsdp:parameters. Throws
/// Error(kUsage) if a flag stands twice, there are too many, or a word cannot be one of a command.
LaunchLine read_launch_line(std::span<const std::string> words);

/// Makes a number of updates of --warmup_ratio, a share of `steps`, and rounds up as Transformers
/// does. Leaves a share, as a real number, if `steps` is 0.
void resolve_shares(Source& flags, int64_t steps);

}  // namespace zero
