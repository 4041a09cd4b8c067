#include <cmath>
#include <cstring>
#include <utility>

#include "src/monitor/deepspeed_curves.hpp"
#include "src/monitor/step_curves.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/monitor/monitor.hpp"

namespace zero::monitor {
namespace {

HyperParameter hyper_parameter(const std::pair<std::string, TomlValue>& setting) {
  const auto& [key, value] = setting;
  if (const auto* flag = std::get_if<bool>(&value)) return {key, *flag};
  if (const auto* real = std::get_if<double>(&value)) return {key, *real};
  if (const auto* whole = std::get_if<int64_t>(&value)) return {key, double(*whole)};
  if (const auto* word = std::get_if<std::string>(&value)) return {key, *word};
  return {key, to_text(value)};
}

class TensorBoard final : public Monitor {
 public:
  TensorBoard(const std::string& folder, bool deepspeed_tags, const LogContext& context,
              const LaunchFacts& facts)
      : file_(folder, context.done + 1), deepspeed_tags_(deepspeed_tags), step_(context.done) {
    std::vector<HyperParameter> settings;
    for (const auto& setting : facts.written) settings.push_back(hyper_parameter(setting));
    file_.text("effective.toml", text("```\n", facts.settings, "```\n"));
    file_.begin_session(facts.name, settings);
    write(step_);
  }

  ~TensorBoard() override {
    if (!is_ended_) end_session(SessionStatus::failure);
  }

  void step(const StepRecord& record, const LogContext& context) override {
    step_ = record.report.step;
    if (!context.shows(step_) && !record.report.skipped) return;
    for (const Curve& curve : kCurves) {
      if (const CurveValue value = curve.value(record, context)) file_.scalar(curve.tag, *value);
    }
    write(step_);
    if (deepspeed_tags_) write_deepspeed_tags(record, context);
  }

  void evaluation(const state::Evaluation& evaluation) override {
    step_ = evaluation.step;
    file_.scalar("eval/loss", evaluation.loss);
    for (const auto& [metric, value] : evaluation.metrics) {
      tag_.assign("eval/");
      tag_ += metric->name;
      file_.scalar(tag_, value);
    }
    write(evaluation.step);
  }

  void ranks(int64_t step, std::span<const double> compute_ms) override {
    file_.histogram("ranks/compute_ms", compute_ms);
    write(step);
  }

  void end(LaunchEnd end) override {
    is_ended_ = true;
    if (end == LaunchEnd::finished) end_session(SessionStatus::success);
  }

 private:
  void write_deepspeed_tags(const StepRecord& record, const LogContext& context) {
    for (const DeepSpeedCurve& curve : kDeepSpeedCurves) {
      if (curve.is_shown(context)) file_.scalar(curve.tag, curve.value(record));
    }
    write(context.samples_after(record.report.step));
  }

  void end_session(SessionStatus status) {
    file_.end_session(status);
    write(step_);
  }

  void write(int64_t step) {
    const int reason = file_.write(step);
    if (reason == 0 || std::exchange(warned_, true)) return;
    warn(file_.path(), " lacks steps: ", std::strerror(reason), "; training goes on");
  }

  EventFile file_;
  bool deepspeed_tags_, is_ended_ = false, warned_ = false;
  int64_t step_;  ///< last step
  std::string tag_ = std::string(64, ' ');
};

}  // namespace

std::unique_ptr<Monitor> make_tensorboard(const TensorboardConfig& config,
                                          const LogContext& context, const LaunchFacts& facts) {
  return std::make_unique<TensorBoard>(
      make_monitor_folder(config.output_path, config.job_name, facts.name, "tensorboard"),
      config.deepspeed_tags, context, facts);
}

}  // namespace zero::monitor
