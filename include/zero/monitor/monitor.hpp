#pragma once
/// Files on rank 0 that other programs show while a run goes on. A file that cannot be written
/// costs one warning and no training.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/monitor_keys.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/interop/event_file.hpp"
#include "zero/monitor/step_record.hpp"
#include "zero/state/evaluation.hpp"

namespace zero::monitor {

/// The end of a launch. paused: another launch goes on.
enum class LaunchEnd { finished, paused };

/// A receiver of what happens in a launch. Between begin and end it allocates nothing.
class Monitor {
 public:
  virtual ~Monitor() = default;
  /// Takes the record of each attempt, in the context of the launch.
  virtual void step(const StepRecord& record, const LogContext& context) = 0;
  virtual void evaluation(const state::Evaluation& evaluation) = 0;
  /// Takes the number of a step that is shown, and in it the compute time of each rank, in ms.
  virtual void ranks(int64_t, std::span<const double>) {}
  /// Takes the end of the launch. Without this call, the launch has failed. A process that is
  /// killed marks nothing.
  virtual void end(LaunchEnd end) = 0;
};

/// The facts of a launch that its monitors show.
struct LaunchFacts {
  std::string name;                                        ///< run.output
  std::string settings;                                    ///< content of effective.toml
  std::vector<std::pair<std::string, TomlValue>> written;  ///< settings of the input
  std::string job = {};                                    ///< number of the Slurm job; "" = none
};

/// Returns the monitor of [tensorboard] for a launch: every `interval`-th step, the first and the
/// last one, and each evaluation, as event files.
std::unique_ptr<Monitor> make_tensorboard(const TensorboardConfig& config,
                                          const LogContext& context, const LaunchFacts& facts);

/// Returns the monitor of [csv_monitor]: a file of every step for each of DeepSpeed's curves.
/// `output` is run.output. Files are appended to, with a line of names for each launch, as
/// DeepSpeed does.
std::unique_ptr<Monitor> make_csv_monitor(const CsvMonitorConfig& config, const LogContext& context,
                                          const std::string& output);

/// Returns the monitor of run.prometheus: a file of the last shown step and evaluation in
/// Prometheus' text format, with the curves of [tensorboard]. A reader finds a whole one. Throws
/// Error(kIo) if it cannot be written now.
std::unique_ptr<Monitor> make_prometheus(const std::string& path, const LogContext& context,
                                         const LaunchFacts& facts);

/// Returns `value` as Python prints it: "2.5", "1e-05", "3.0", "nan". `is_single` is true for as
/// few digits as tell an fp32 number from others, false for those of a double.
std::string python_number(double value, bool is_single = false);

/// Makes the folder of a monitor and returns its path. It is `output_path` or, if that is "", the
/// folder `name` in `output`, the run's. In it lies the folder `job_name`, unless that is "".
/// Throws Error(kIo), also if the one in the run's folder is a link.
std::string make_monitor_folder(const std::string& output_path, const std::string& job_name,
                                const std::string& output, std::string_view name);

}  // namespace zero::monitor
