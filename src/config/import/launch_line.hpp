#pragma once

#include <span>
#include <string>

#include "src/config/import/source.hpp"

namespace zero {

inline constexpr const char* kLaunchLine = "launch line";  ///< the place of its entries

/// The flags among the words of a command as argparse reads them: "--name value", "--name=value",
/// or "--name" alone, which is true. Names are written with underscores. A word that belongs to no
/// flag, such as the name of a script, is an entry without a value and with itself as its key.
/// Flags that make one value are one: the betas under --adam_beta1, a share of --max_steps under
/// --warmup_ratio as a number of updates, where --max_steps is there. Throws Error(kUsage) if a
/// flag stands twice or there are too many.
Source read_launch_line(std::span<const std::string> words);

}  // namespace zero
