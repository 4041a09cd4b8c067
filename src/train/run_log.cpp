#include "zero/train/run_log.hpp"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace zero::train {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, pattern, values...);
  return line;
}

/// A JSON number with enough digits to read the same value back.
std::string number(double value) {
  return std::isfinite(value) ? format("%.17g", value) : std::string("null");
}

double tokens_per_second(const StepRecord& record) {
  return record.seconds > 0 ? double(record.tokens) / record.seconds : 0;
}

}  // namespace

std::string duration_text(double seconds) {
  const long long whole = std::llround(seconds);
  if (whole < 60) return format("%lld s", whole);
  if (whole < 3600) return format("%lld m %02lld s", whole / 60, whole % 60);
  return format("%lld h %02lld m", whole / 3600, whole / 60 % 60);
}

std::string step_line(const StepRecord& record, const LogContext& context, double mean_seconds) {
  const kernels::StepReport& report = record.report;
  std::string line =
      format("step %lld/%lld %.1f %%  loss %.4f  norm %.3g  lr %.2e", (long long)report.step,
             (long long)context.steps, 100.0 * double(report.step) / double(context.steps),
             report.loss, report.grad_norm, double(report.learning_rate));
  if (context.shows_scale) line += format("  scale %g", double(report.loss_scale));
  line += format("  %.1f ms  %.0f tokens/s", 1e3 * record.seconds, tokens_per_second(record));
  if (context.peak_flops > 0) {
    line += format("  %.1f %% of peak",
                   100 * tokens_per_second(record) * context.flops_per_token / context.peak_flops);
  }
  if (report.skipped) line += "  skipped";
  if (context.synthetic) line += "  synthetic data";
  const double left = double(context.steps - report.step);
  return line + "  ETA " + duration_text(left * mean_seconds) + "\n";
}

std::string metrics_line(const StepRecord& record) {
  const kernels::StepReport& report = record.report;
  return format("{\"step\": %lld, \"loss\": ", (long long)report.step) + number(report.loss) +
         format(", \"loss_hex\": \"%016llx\", \"grad_norm\": ",
                (unsigned long long)std::bit_cast<uint64_t>(report.loss)) +
         number(report.grad_norm) + ", \"lr\": " + number(report.learning_rate) +
         ", \"loss_scale\": " + number(report.loss_scale) +
         ", \"skipped\": " + (report.skipped ? "true" : "false") +
         format(
             ", \"tokens\": %lld, \"tokens_per_s\": %.1f, \"step_ms\": %.3f, \"exposed_ms\": "
             "%.3f}\n",
             (long long)record.tokens, tokens_per_second(record), 1e3 * record.seconds,
             1e3 * record.exposed_seconds);
}

RunLog::RunLog(const std::string& folder, const LogContext& context, int64_t interval)
    : context_(context), interval_(interval) {
  const std::string path = folder + "/metrics.jsonl";
  metrics_.reset(std::fopen(path.c_str(), "we"));
  if (!metrics_) refuse(Exit::kIo, path, ": ", std::strerror(errno));
}

void RunLog::step(const StepRecord& record) {
  seconds_ += record.seconds;
  if (++steps_ == 1) first_seconds_ = record.seconds;
  write(metrics_line(record));
  const int64_t step = record.report.step;
  const bool shown = step % interval_ == 0 || step == 1 || step == context_.steps;
  if (!shown && !record.report.skipped) return;
  std::fputs(step_line(record, context_, mean_seconds()).c_str(), stdout);
  std::fflush(stdout);
}

void RunLog::evaluation(const Evaluation& evaluation) {
  std::printf("evaluation after step %lld  loss %.4f  %lld tokens  %.1f s\n",
              (long long)evaluation.step, evaluation.loss, (long long)evaluation.tokens,
              evaluation.seconds);
  std::fflush(stdout);
}

double RunLog::mean_seconds() const {
  if (steps_ < 2) return first_seconds_;
  return (seconds_ - first_seconds_) / double(steps_ - 1);
}

void RunLog::write(const std::string& line) {
  const bool written =
      std::fputs(line.c_str(), metrics_.get()) >= 0 && std::fflush(metrics_.get()) == 0;
  if (written || warned_) return;
  warned_ = true;
  std::fprintf(stderr, "zeroapp: warning: metrics.jsonl: %s\n", std::strerror(errno));
}

}  // namespace zero::train
