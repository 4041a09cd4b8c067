#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "src/monitor/deepspeed_curves.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"
#include "zero/monitor/monitor.hpp"

namespace zero::monitor {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLineBytes = 256;

/// Appends a finite number in the fewest digits that say it.
template <class Number>
void append_shortest(std::string& line, Number value) {
  char digits[40];
  const Number size = std::fabs(value);
  const bool is_short = size == 0 || (size >= Number(1e-4) && size < Number(1e16));
  const auto form = is_short ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(digits, digits + sizeof digits, value, form).ptr;
  const std::string_view number(digits, size_t(end - digits));
  line += number;
  if (is_short && number.find('.') == number.npos) line += ".0";
}

/// Appends a number as Python prints it. Allocates nothing if `line` has room.
void append_python_number(std::string& line, double value, bool is_single) {
  if (std::isnan(value)) {
    line += "nan";
  } else if (std::isinf(value)) {
    line += value < 0 ? "-inf" : "inf";
  } else if (is_single) {
    append_shortest(line, float(value));
  } else {
    append_shortest(line, value);
  }
}

/// A file of one curve.
struct CsvFile {
  const DeepSpeedCurve* curve;
  std::string path;
  OpenFile file;
};

class CsvMonitor final : public Monitor {
 public:
  CsvMonitor(const std::string& folder, const LogContext& context) {
    line_.reserve(kLineBytes);
    for (const DeepSpeedCurve& curve : kDeepSpeedCurves) {
      if (curve.is_shown(context)) open(folder, curve);
    }
  }

  void step(const StepRecord& record, const LogContext& context) override {
    for (const CsvFile& file : files_) {
      line_.clear();
      append(line_, "%lld,", (long long)context.samples_after(record.report.step));
      append_python_number(line_, file.curve->value(record), file.curve->is_single);
      line_ += "\r\n";
      add(file);
    }
  }

  void evaluation(const state::Evaluation&) override {}
  void end(LaunchEnd) override {}

 private:
  void open(const std::string& folder, const DeepSpeedCurve& curve) {
    std::string name(curve.tag);
    std::ranges::replace(name, '/', '_');
    const std::string path = folder + "/" + name + ".csv";
    files_.push_back({&curve, path, open_own(path, O_WRONLY | O_CREAT | O_APPEND)});
    line_.clear();
    append(line_, "step,%.*s\r\n", int(curve.name.size()), curve.name.data());
    add(files_.back());
  }

  void add(const CsvFile& file) {
    const int64_t before = bytes_of(file.file);
    const int reason = write_all(file.file, line_);
    if (reason == 0) return;
    // Half a line would spoil the next one, for which the disk may have room again.
    const bool is_cut = ftruncate(file.file.descriptor(), before) == 0;
    if (std::exchange(warned_, true)) return;
    warn(file.path, " lacks steps: ", std::strerror(reason),
         is_cut ? "" : ", and its last line may be cut", "; training goes on");
  }

  std::vector<CsvFile> files_;
  std::string line_;
  bool warned_ = false;
};

}  // namespace

std::string python_number(double value, bool is_single) {
  std::string number;
  append_python_number(number, value, is_single);
  return number;
}

std::string make_monitor_folder(const std::string& output_path, const std::string& job_name,
                                const std::string& output, std::string_view name) {
  const std::string own = text(output, "/", name);
  const std::string base = output_path.empty() ? own : output_path;
  const std::string folder = job_name.empty() ? base : text(base, "/", job_name);
  std::error_code error;
  // Another user of a shared folder could lead its files elsewhere.
  if (output_path.empty() && fs::is_symlink(fs::symlink_status(own, error)))
    refuse(Exit::kIo, own, ": is a link; remove it, or write ", name, ".output_path");
  fs::create_directories(folder, error);
  if (error) refuse(Exit::kIo, folder, ": ", std::strerror(error.value()));
  return folder;
}

std::unique_ptr<Monitor> make_csv_monitor(const CsvMonitorConfig& config, const LogContext& context,
                                          const std::string& output) {
  return std::make_unique<CsvMonitor>(
      make_monitor_folder(config.output_path, config.job_name, output, "csv_monitor"), context);
}

}  // namespace zero::monitor
