#pragma once

#include <string>

#include "src/config/import/translation.hpp"

namespace zero {

/// The sources of an import: the user's file, and the file that it or the launch line names.
struct ImportFiles {
  Source accelerate = {};      ///< Accelerate's configuration and its launcher's flags, which win
  Source deepspeed = {};       ///< DeepSpeed's file
  bool of_accelerate = false;  ///< true: the user's file is Accelerate's configuration
  Translation::Framework framework = Translation::Framework::deepspeed;
};

/// Reads `path`, DeepSpeed's JSON or Accelerate's configuration in YAML or JSON, and the file that
/// belongs to it. Drops and reports what Accelerate and Transformers would ignore. Throws
/// Error(kUsage) if a file cannot be read or has another form.
ImportFiles read_files(Translation& translation, const std::string& path, const LaunchLine& line);

}  // namespace zero
