#include "src/run/lane_runner.hpp"

#include <algorithm>

#include "src/run/bound_op.hpp"
#include "src/run/lane_op_times.hpp"
#include "src/run/prompt_thread.hpp"
#include "src/run/rehearsal.hpp"
#include "zero/device/region.hpp"

namespace zero::run {
bool computes(plan::Lane lane) {
  return lane == plan::Lane::compute || lane == plan::Lane::host_optimizer;
}

Priority priority_of(plan::Lane lane) {
  const bool moves = std::ranges::count(plan::kCollectiveLanes, lane) > 0;
  return moves ? Priority::high : Priority::normal;
}

LaneRunner::LaneRunner(Crew& crew, LaneSetup setup)
    : crew_(crew),
      setup_(std::move(setup)),
      stream_(setup_.threads,
              setup_.lane == plan::Lane::host_optimizer ? Place::host : Place::device,
              priority_of(setup_.lane)),
      tallies_(setup_.rows) {}

LaneRunner::~LaneRunner() {
  if (!thread_.joinable()) return;
  crew_.closing.store(true);
  begun_.publish(turn_ + 1);
  thread_.join();
}

void LaneRunner::prepare() {
  for (const std::vector<LaneOp>& ops : setup_.ops) {
    for (const LaneOp& op : ops) {
      if (op.bound.op->kind == plan::Kind::compute) prepare_compute(op.bound, stream_);
    }
  }
}

void LaneRunner::rehearse() {
  adopt_threads(stream_);
  Rehearsal rehearsal(stream_);
  for (const std::vector<LaneOp>& ops : setup_.ops) {
    for (const LaneOp& op : ops) rehearsal.run(op.bound);
  }
  stream_.wait();
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
  settled_ = 0;
  last_end_ = 0;
  if (has_ops(body)) next_ = setup_.segments[body].pass(0);
  try {
    // The caller's thread may be another than last time, or have served another executor.
    adopt_threads(stream_);
    if (crew_.inputs_there) crew_.inputs_there->hold(stream_);
    run_segments(body);
  } catch (...) {
    crew_.failure.report(std::current_exception(), crew_.error_hook);
  }
  crew_.progress[lane].running.store(-1, std::memory_order_relaxed);
  if (crew_.failure.raised()) crew_.stop(setup_.lane);
}

void LaneRunner::run_segments(plan::BodyId body) {
  LaneBody& lane = setup_.segments[body];
  for (int64_t n = 0; n < lane.passes(); ++n) {
    const LaneBody::Pass pass = lane.pass(n);
    LaneSegment& segment = lane.segments[size_t(pass.segment)];
    if (!await(lane, pass)) return;
    // The round before needs its marks until its times are told.
    if (pass.turn.round > 0) settle_all(body, n - lane.loop_length() + 1);
    run_segment(body, segment, pass.turn.round);
    if (takes_turns(segment)) crew_.collectives.publish(turn_of(lane, pass) + 1);
    const int64_t end = lane.end_of(pass, setup_.lane);
    if (segment.cut.awaited) {
      crew_.finished[size_t(setup_.lane)].publish(end);
    } else {
      crew_.finished[size_t(setup_.lane)].set(end);
    }
    settle(body, n + 1);
  }
  if (setup_.lane == plan::Lane::compute && crew_.at_end) crew_.at_end(stream_);
  settle_all(body, lane.passes());
  stream_.wait();
}

/// True for a collective that every rank must queue in the plan's order.
bool LaneRunner::takes_turns(const LaneSegment& segment) const {
  return segment.cut.turn >= 0 &&
         std::ranges::any_of(setup_.comms.of, [](const comm::Communicator* comm) {
           return comm != nullptr && comm->needs_one_order();
         });
}

/// Returns the number of the body's collectives before this one.
int64_t LaneRunner::turn_of(const LaneBody& lane, const LaneBody::Pass& pass) {
  return lane.segments[size_t(pass.segment)].cut.turn + pass.rounds_before * lane.loop_turns;
}

/// Blocks until the awaited work is queued and makes the stream hold for it. False after a failure.
bool LaneRunner::await(const LaneBody& lane, const LaneBody::Pass& pass) {
  const LaneSegment& segment = lane.segments[size_t(pass.segment)];
  const bool takes_turn = takes_turns(segment);
  if (!segment.cut.waits.empty() || takes_turn) {
    crew_.progress[size_t(setup_.lane)].running.store(-1, std::memory_order_relaxed);
    for (const plan::Wait& wait : segment.cut.waits)
      crew_.finished[size_t(wait.lane)].wait_for(lane.rounds.awaited(wait, pass.turn));
    if (takes_turn) crew_.collectives.wait_for(turn_of(lane, pass));
  }
  if (crew_.failure.raised()) return false;
  const bool again = pass.turn.round > 0;
  for (const Event* event : again ? segment.holds_again : segment.holds) event->hold(stream_);
  return true;
}

void LaneRunner::run_segment(plan::BodyId body, LaneSegment& segment, int64_t round) {
  show(body);
  const std::span<LaneOp> ops = ops_of(body, segment);
  for (LaneOp& op : ops) op.bound.enter_round(round);
  segment.begin.mark(stream_);
  // The mark lies after all work that the segment waits for.
  if (segment.cut.on_host) segment.begin.wait();
  queue(segment, ops);
  segment.end.mark(stream_);
  if (segment.done) segment.done->record(stream_);
}

void LaneRunner::queue(LaneSegment& segment, std::span<const LaneOp> ops) {
  if (segment.work.is_recorded()) {
    const Region region(ops.front().region);
    if (crew_.op_hook) crew_.op_hook(setup_.lane, *ops.front().bound.op);
    return segment.work.queue_again(stream_);
  }
  segment.work.queue(stream_, segment.cut.recordable, [&] {
    for (const LaneOp& op : ops) run_op(op);
  });
}

void LaneRunner::run_op(const LaneOp& op) {
  const Region region(op.region);
  if (crew_.op_hook) crew_.op_hook(setup_.lane, *op.bound.op);
  op.bound.function(op.bound, {.stream = stream_,
                               .comm = setup_.comms.at(op.bound.op->team),
                               .disk = setup_.disk,
                               .step = crew_.step});
}

std::span<LaneOp> LaneRunner::ops_of(plan::BodyId body, const LaneSegment& segment) {
  return std::span(setup_.ops[body]).subspan(size_t(segment.cut.first), size_t(segment.cut.count));
}

/// Shows the watchdog the oldest op that may still run.
void LaneRunner::show(plan::BodyId body) {
  const LaneBody& lane = setup_.segments[body];
  if (settled_ == lane.passes()) return;
  const LaneOp& op = setup_.ops[body][size_t(lane.segments[size_t(next_.segment)].cut.first)];
  const int64_t running = next_.turn.round * lane.rounds.ops() + op.place;
  crew_.progress[size_t(setup_.lane)].running.store(running, std::memory_order_relaxed);
}

/// Counts queued segments whose work is done.
void LaneRunner::settle(plan::BodyId body, int64_t queued) {
  LaneBody& lane = setup_.segments[body];
  const int64_t before = settled_;
  LaneProgress& progress = crew_.progress[size_t(setup_.lane)];
  while (settled_ < queued && lane.segments[size_t(next_.segment)].end.reached()) {
    const LaneSegment& done = lane.segments[size_t(next_.segment)];
    progress.finished.fetch_add(done.cut.count, std::memory_order_relaxed);
    tell_times(body, done);
    if (++settled_ < lane.passes()) next_ = lane.pass(settled_);
  }
  if (settled_ != before && settled_ < queued) show(body);
}

/// Waits for the first `segments` of the queued passes.
void LaneRunner::settle_all(plan::BodyId body, int64_t segments) {
  while (settled_ < segments) {
    setup_.segments[body].segments[size_t(next_.segment)].end.wait();
    settle(body, segments);
  }
}

/// Adds up the times of a finished segment. A device does not know them earlier.
void LaneRunner::tell_times(plan::BodyId body, const LaneSegment& segment) {
  LaneTimes& times = crew_.times[size_t(setup_.lane)];
  OpTime* const notes = crew_.op_times[size_t(setup_.lane)];
  const double begun = segment.begin.seconds_since(crew_.origin);
  if (!segment.cut.waits.empty()) times.wait_seconds += std::max(0.0, begun - last_end_);
  last_end_ = segment.end.seconds_since(crew_.origin);
  times.busy_seconds += last_end_ - begun;
  tell_time(ops_of(body, segment), last_end_ - begun);
  if (!notes) return;
  const LaneBody& lane = setup_.segments[body];
  const int64_t place = lane.end_of(next_, setup_.lane) - segment.cut.count;
  notes[place] = {crew_.time_at(begun), crew_.time_at(last_end_)};
}

void LaneRunner::tell_time(std::span<const LaneOp> ops, double seconds) {
  const int row = ops.size() == 1 ? ops.front().row : ProfileRows::kSegments;
  LaneTally& tally = tallies_[size_t(row)];
  tally.seconds += seconds;
  ++tally.calls;
  phase_seconds_[size_t(ops.front().phase)] += seconds;
}

}  // namespace zero::run
