#pragma once
/// The sections of the files that other programs show while a run goes on.

#include <string>

namespace zero {

/// The section [tensorboard]: the event files of rank 0. Paths are relative to the working folder.
struct TensorboardConfig {
  bool enabled = true;
  std::string output_path = {};  ///< folder; "" = <run.output>/tensorboard
  std::string job_name = {};     ///< folder in output_path that has the files; "" = output_path
  bool deepspeed_tags = false;   ///< true: adds the curves of DeepSpeed's names, over samples

  bool operator==(const TensorboardConfig&) const = default;
};

/// The section [csv_monitor]: a file of rank 0 for each curve, as DeepSpeed writes them.
struct CsvMonitorConfig {
  bool enabled = false;
  std::string output_path = {};  ///< folder; "" = <run.output>/csv_monitor
  std::string job_name = {};     ///< folder in output_path that has the files; "" = output_path

  bool operator==(const CsvMonitorConfig&) const = default;
};

}  // namespace zero
