#pragma once

#include <string>

#include "src/config/import/translation.hpp"

namespace zero {

/// The sources of an import: the file that the user names, and the one that it or the launch line
/// names.
struct ImportFiles {
  Source accelerate = {};  ///< a configuration of Accelerate and its launcher's flags, which win
  Source deepspeed = {};   ///< DeepSpeed's file
  bool of_accelerate = false;  ///< the user names a configuration of Accelerate
  Translation::Framework framework = Translation::Framework::deepspeed;
};

/// Reads `path`, DeepSpeed's JSON or a configuration of Accelerate in YAML or JSON, and the file
/// that belongs to it. What Accelerate and Transformers would not look at is left out with a line.
/// Throws Error(kUsage) if a file cannot be read or has no such form.
ImportFiles read_files(Translation& translation, const std::string& path, const LaunchLine& line);

}  // namespace zero
