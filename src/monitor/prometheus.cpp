#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "src/monitor/step_curves.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/own_file.hpp"
#include "zero/monitor/monitor.hpp"

namespace zero::monitor {
namespace {

/// Longer than any file, so that a step allocates nothing.
constexpr size_t kFileBytes = 16384, kEvaluationBytes = 4096;
/// Permissions of the file, which another user's program reads.
constexpr int kReadable = 0644;

/// Returns the name of a curve: "zeroapp_train_loss".
std::string name_of(std::string_view tag) {
  std::string name = text("zeroapp_", tag);
  std::ranges::replace(name, '/', '_');
  return name;
}

/// Returns a label's value with escapes. Control characters become blanks.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') out += '\\';
    out += (unsigned char)letter < ' ' || letter == '\x7f' ? ' ' : letter;
  }
  return out;
}

/// The file of a run's last shown step in Prometheus' text format, version 0.0.4.
class Prometheus final : public Monitor {
 public:
  Prometheus(const std::string& path, const LogContext& context, const LaunchFacts& facts)
      : path_(path), next_(path + ".tmp"), steps_(context.steps), step_(context.done) {
    labels_ = text("{run=\"", escaped(facts.name), '"');
    if (!facts.job.empty()) labels_ += text(",job_id=\"", escaped(facts.job), '"');
    labels_ += "}";
    for (const Curve& curve : kCurves) names_.push_back(name_of(curve.tag));
    values_.resize(names_.size());
    text_.reserve(kFileBytes);
    evaluation_.reserve(kEvaluationBytes);
    if (const int reason = write()) refuse(Exit::kIo, path_, ": ", std::strerror(reason));
  }

  ~Prometheus() override {
    if (is_running_) end(LaunchEnd::paused);
  }

  void step(const StepRecord& record, const LogContext& context) override {
    step_ = record.report.step;
    skipped_ += record.report.skipped != 0;
    rejected_ += record.rejected;
    if (!context.shows(step_) && !record.report.skipped) return;
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = kCurves[i].value(record, context);
    try_to_write();
  }

  void evaluation(const state::Evaluation& evaluation) override {
    evaluation_.clear();
    append_value(evaluation_, "zeroapp_eval_step", "gauge", double(evaluation.step));
    append_value(evaluation_, "zeroapp_eval_loss", "gauge", evaluation.loss);
    for (const auto& [metric, value] : evaluation.metrics) {
      name_.assign("zeroapp_eval_");
      name_ += metric->name;
      append_value(evaluation_, name_.c_str(), "gauge", value);
    }
    try_to_write();
  }

  void end(LaunchEnd) override {
    is_running_ = false;
    try_to_write();
  }

 private:
  /// Appends "# TYPE name type", and the value with the run's labels.
  void append_value(std::string& out, const char* name, const char* type, double value) {
    append(out, "# TYPE %s %s\n%s", name, type, name);
    out += labels_;
    if (std::isnan(value)) {
      out += " NaN\n";
    } else if (std::isinf(value)) {
      out += value < 0 ? " -Inf\n" : " +Inf\n";
    } else {
      append(out, " %.17g\n", value);
    }
  }

  void compose() {
    text_.clear();
    append_value(text_, "zeroapp_running", "gauge", is_running_ ? 1 : 0);
    append_value(text_, "zeroapp_time_seconds", "gauge", double(std::time(nullptr)));
    append_value(text_, "zeroapp_step", "gauge", double(step_));
    append_value(text_, "zeroapp_steps", "gauge", double(steps_));
    append_value(text_, "zeroapp_skipped_steps_total", "counter", double(skipped_));
    append_value(text_, "zeroapp_rejected_steps_total", "counter", double(rejected_));
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i]) append_value(text_, names_[i].c_str(), "gauge", *values_[i]);
    }
    text_ += evaluation_;
  }

  /// Returns 0 or the errno of the failure.
  int write() {
    compose();
    return replace_by(next_, path_, text_, {.syncs = false, .permissions = kReadable});
  }

  void try_to_write() {
    const int reason = write();
    if (reason == 0 || std::exchange(warned_, true)) return;
    warn(path_, " lacks steps: ", std::strerror(reason), "; training goes on");
  }

  const std::string path_, next_;
  std::string labels_, text_, evaluation_, name_ = std::string(64, ' ');
  std::vector<std::string> names_;
  std::vector<CurveValue> values_;
  int64_t steps_, step_, skipped_ = 0, rejected_ = 0;
  bool is_running_ = true, warned_ = false;
};

}  // namespace

std::unique_ptr<Monitor> make_prometheus(const std::string& path, const LogContext& context,
                                         const LaunchFacts& facts) {
  return std::make_unique<Prometheus>(path, context, facts);
}

}  // namespace zero::monitor
