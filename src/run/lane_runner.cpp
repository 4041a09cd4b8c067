#include "src/run/lane_runner.hpp"

#include <chrono>

#include "src/run/prompt_thread.hpp"
#include "zero/device/region.hpp"

namespace zero::run {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

bool computes(plan::Lane lane) {
  return lane == plan::Lane::compute || lane == plan::Lane::host_optimizer;
}

LaneRunner::LaneRunner(Crew& crew, LaneSetup setup)
    : crew_(crew), setup_(std::move(setup)), stream_(setup_.threads), tallies_(size_t(op_rows())) {}

LaneRunner::~LaneRunner() {
  if (!thread_.joinable()) return;
  crew_.closing.store(true);
  begun_.publish(turn_ + 1);
  thread_.join();
}

void LaneRunner::launch() {
  thread_ = std::thread([this] { serve(); });
}

void LaneRunner::serve() {
  if (!computes(setup_.lane)) wake_promptly();
  for (int32_t turn = 1;; ++turn) {
    begun_.wait_for(turn);
    if (crew_.closing.load()) return;
    run(body_);
    ended_.publish(turn);
  }
}

void LaneRunner::begin(plan::BodyId body) {
  body_ = body;
  begun_.publish(++turn_);
}

void LaneRunner::clear_tallies() {
  tallies_.assign(tallies_.size(), LaneTally{});
  phase_seconds_ = {};
}

void LaneRunner::run(plan::BodyId body) noexcept {
  const size_t lane = size_t(setup_.lane);
  crew_.times[lane] = {};
  try {
    // The caller's thread may be another one than last time, or have served another executor.
    adopt_threads(stream_);
    run_ops(body);
  } catch (...) {
    crew_.failure.report(std::current_exception(), crew_.error_hook);
  }
  crew_.progress[lane].running.store(-1, std::memory_order_relaxed);
  if (crew_.failure.raised()) crew_.finished[lane].publish(Crew::kStopped);
}

void LaneRunner::run_ops(plan::BodyId body) {
  int32_t position = 0;
  for (const LaneOp& op : setup_.ops[body]) {
    if (!await(op)) return;
    run_op(op, ++position);
  }
  stream_.wait();
}

bool LaneRunner::await(const LaneOp& op) {
  const size_t lane = size_t(setup_.lane);
  const std::vector<plan::Wait>& waits = op.bound.op->waits;
  if (!waits.empty()) {
    crew_.progress[lane].running.store(-1, std::memory_order_relaxed);
    const Clock::time_point start = Clock::now();
    for (const plan::Wait& wait : waits) crew_.finished[size_t(wait.lane)].wait_for(wait.count);
    crew_.times[lane].wait_seconds += seconds_between(start, Clock::now());
  }
  if (crew_.failure.raised()) return false;
  for (const Event* event : op.holds) event->hold(stream_);
  return true;
}

void LaneRunner::run_op(const LaneOp& op, int32_t position) {
  const size_t lane = size_t(setup_.lane);
  LaneProgress& progress = crew_.progress[lane];
  progress.running.store(op.place, std::memory_order_relaxed);
  const Clock::time_point start = Clock::now();
  {
    const Region region(op.region);
    if (crew_.op_hook) crew_.op_hook(setup_.lane, *op.bound.op);
    op.bound.function(
        op.bound,
        {.stream = stream_, .comm = setup_.comm, .disk = setup_.disk, .step = crew_.step});
    if (op.done) op.done->record(stream_);
  }
  const Clock::time_point end = Clock::now();
  if (OpTime* times = crew_.op_times[lane]) times[position - 1] = {start, end};
  const double seconds = seconds_between(start, end);

  LaneTally& tally = tallies_[size_t(op.row)];
  tally.seconds += seconds;
  ++tally.calls;
  phase_seconds_[size_t(op.phase)] += seconds;
  crew_.times[lane].busy_seconds += seconds;
  progress.finished.fetch_add(1, std::memory_order_relaxed);
  if (op.done) {
    crew_.finished[lane].publish(position);
  } else {
    crew_.finished[lane].set(position);
  }
}

}  // namespace zero::run
