#include "zero/launch/watchdog.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "zero/graph/operation.hpp"

namespace zero::launch {
namespace {

using Seconds = std::chrono::duration<double>;

/// Pauses that one pause counts as, at most. A longer pause means that a user or a scheduler
/// stopped this process, and nothing could have moved.
constexpr double kLongestPauses = 3;

}  // namespace

Watchdog::Watchdog(Options options)
    : options_(std::move(options)),
      timeout_seconds_(options_.timeout_seconds),
      thread_([this] { watch(); }) {
  // The name helps to read a list of threads, so its failure is ignored.
  pthread_setname_np(thread_.native_handle(), "watchdog");
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  closing_changed_.notify_all();
  thread_.join();
}

void Watchdog::arm(const char* place) {
  place_ = place;
  ++armings_;
  armed_ = true;
}

Watchdog::Armed::Armed(Watchdog* watchdog, const char* place) : watchdog_(watchdog) {
  if (watchdog_) watchdog_->arm(place);
}

Watchdog::Armed::~Armed() {
  if (watchdog_) watchdog_->disarm();
}

std::string Watchdog::place() const {
  const char* named = place_;
  return named ? named : options_.running();
}

void Watchdog::watch() {
  using Clock = std::chrono::steady_clock;
  const double pause = std::min(0.1, options_.timeout_seconds / 8);
  int64_t seen = -1;
  double quiet = 0;
  Clock::time_point before = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_changed_.wait_for(lock, Seconds(pause), [this] { return closing_; })) {
    const Clock::time_point now = Clock::now();
    const double passed = Seconds(now - before).count();
    before = now;
    quiet += std::min(passed, kLongestPauses * pause);
    // Both numbers only rise, so their sum changes with either.
    const int64_t moved = options_.finished() + armings_;
    const bool excused = options_.excused && options_.excused();
    if (!armed_ || excused || moved != seen) quiet = 0;
    seen = moved;
    if (quiet < timeout_seconds_) continue;
    options_.on_hang(place(), timeout_seconds_);
    return;
  }
}

std::string describe_op(const plan::Plan& plan, const plan::Body& body, const plan::Turn& turn) {
  const plan::PlanOp& made = body.ops[size_t(turn.op)];
  if (made.kind == plan::Kind::compute) {
    const graph::Op& from = plan.graphs[size_t(body.graph)].ops[size_t(made.graph_op)];
    return text(from.kind->name, " of unit ", plan::unit_name(plan, body, made), ", micro-batch ",
                plan::micro_of(body, made, turn.round));
  }
  const std::string name = plan::name_of(made.kind, plan.request.optimizer);
  const std::string unit = plan::unit_name(plan, body, made);
  return unit.empty() ? name : name + " of unit " + unit;
}

int64_t finished_ops(std::span<const run::LaneProgress> progress) {
  int64_t finished = 0;
  for (const run::LaneProgress& lane : progress) finished += lane.finished.load();
  return finished;
}

std::string describe_progress(const plan::Plan& plan, plan::BodyId body,
                              std::span<const run::LaneProgress> progress) {
  std::string out;
  for (size_t lane = 0; lane < progress.size(); ++lane) {
    const int64_t running = progress[lane].running.load();
    const plan::Body& ran = plan.bodies[body];
    if (running < 0 || ran.ops.empty()) continue;
    const plan::Turn turn = run::turn_running(ran, running);
    out += text(out.empty() ? "" : "; ", "lane ", plan::name_of(plan::Lane(lane)), ": ",
                describe_op(plan, ran, turn), " (op ", turn.op, " of ", ran.name, ", ",
                progress[lane].finished.load(), " finished)");
  }
  return out.empty() ? "all lanes wait for each other" : out;
}

}  // namespace zero::launch
