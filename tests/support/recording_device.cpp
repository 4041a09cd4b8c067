#include "tests/support/recording_device.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <thread>

#include "zero/base/error.hpp"
#include "zero/device/space.hpp"
#include "zero/device/stream.hpp"
#include "zero/plan/rounds.hpp"

namespace zero {
namespace testing {
namespace {

/// How many ops of each lane are known to be done, those of a loop as often as they run.
using Clock = std::array<int64_t, plan::kLanes>;

void raise(Clock& clock, const Clock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane) {
    clock[lane] = std::max(clock[lane], other[lane]);
  }
}

using Ops = std::vector<const plan::PlanOp*>;

std::string fault(const plan::PlanOp& op, const std::string& what) {
  return text("op ", op.index, " of ", plan::name_of(op.lane), ": ", what);
}

struct Device {
  std::mutex mutex;
  const plan::Body* body = nullptr;
  plan::Rounds rounds;
  bool records = false;
  Forgetting forgetting;
  DeviceCalls calls;
  std::vector<std::string> faults;
  std::map<const Stream*, Clock> queued;        ///< before whatever is queued next
  std::map<std::thread::id, Clock> known;       ///< to a thread of the host
  std::map<const Stream*, Ops*> recordings;     ///< the streams that record
  std::map<const plan::PlanOp*, int64_t> seen;  ///< how often
  std::vector<int32_t> collectives;

  Clock& own() { return known[std::this_thread::get_id()]; }

  void blame(const plan::PlanOp& op, const std::string& what) { faults.push_back(fault(op, what)); }

  /// Whatever waits, on a stream that records.
  void refuse_recording(const Stream& stream, const char* what) {
    if (recordings.contains(&stream)) faults.push_back(text(what, " while a stream records"));
  }

  int32_t place_of(const plan::PlanOp& op) const { return int32_t(&op - body->ops.data()); }
  int64_t times_of(const plan::PlanOp& op) const { return plan::times_of(*body, place_of(op)); }

  /// The number of the op in its lane, from 1, in the round in which it comes.
  int64_t check(const plan::PlanOp& op, const Clock& before) {
    const plan::Turn turn{.op = place_of(op), .round = seen[&op]++};
    if (turn.round >= times_of(op)) blame(op, text("came ", turn.round + 1, " times"));
    const int64_t number = rounds.number(op, turn);
    if (before[size_t(op.lane)] < number - 1) {
      blame(op, "begins before the one before it has ended");
    }
    for (const plan::Wait& wait : op.waits) {
      const int64_t count = rounds.awaited(wait, turn);
      if (before[size_t(wait.lane)] >= count) continue;
      blame(op, text("does not wait for op ", count, " of ", plan::name_of(wait.lane)));
    }
    return number;
  }

  /// Peers wait for what ranks exchange, which therefore comes before products.
  void check_priority(const Stream& stream, const plan::PlanOp& op) {
    const bool urgent = std::ranges::count(plan::kCollectiveLanes, op.lane) > 0;
    if ((stream.handle().priority == Priority::high) != urgent) blame(op, "has another priority");
  }

  void queue(const Stream& stream, const plan::PlanOp& op) {
    check_priority(stream, op);
    Clock& before = queued[&stream];
    raise(before, own());
    before[size_t(op.lane)] = check(op, before);
    if (plan::is_collective(op.kind)) collectives.push_back(place_of(op));
  }

  /// What is queued is nothing to it unless somebody has waited.
  void run_on_host(const plan::PlanOp& op) { own()[size_t(op.lane)] = check(op, own()); }
};

Device& device() {
  static Device one;
  return one;
}

bool runs_on_host(const plan::PlanOp& op) {
  return op.lane == plan::Lane::host_optimizer || plan::is_disk_transfer(op.kind);
}

}  // namespace

void expect(const plan::Plan& plan, plan::BodyId body, bool records, Forgetting forgetting) {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  on.body = &plan.bodies[body];
  on.rounds = plan::Rounds(*on.body);
  on.records = records;
  on.forgetting = forgetting;
  on.calls = {};
  on.faults.clear();
  on.queued.clear();
  on.known.clear();
  on.seen.clear();
  on.collectives.clear();
}

std::vector<std::string> faults() {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  Clock done{};
  for (const auto& [thread, clock] : on.known) raise(done, clock);
  std::vector<std::string> all = on.faults;
  for (const plan::PlanOp& op : on.body->ops) {
    const int64_t times = on.times_of(op);
    if (on.seen[&op] < times) all.push_back(fault(op, "did not come as often as it runs"));
    const plan::Turn last{.op = on.place_of(op), .round = times - 1};
    if (done[size_t(op.lane)] < on.rounds.number(op, last)) {
      all.push_back(fault(op, "was waited for by nobody"));
    }
  }
  return all;
}

DeviceCalls device_calls() { return device().calls; }

std::vector<int32_t> queued_collectives() { return device().collectives; }

void queue_op(const run::BoundOp& bound, const run::LaneTools& tools) {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  const plan::PlanOp& op = *bound.op;
  const auto recording = on.recordings.find(&tools.stream);
  if (recording != on.recordings.end()) {
    if (runs_on_host(op) || plan::is_collective(op.kind)) on.blame(op, "is recorded");
    recording->second->push_back(&op);
  } else if (runs_on_host(op)) {
    on.run_on_host(op);
  } else {
    on.queue(tools.stream, op);
  }
}

}  // namespace testing

using testing::device;
using testing::raise;

Stream::Stream(int threads, Place place, Priority priority)
    : handle_(std::make_unique<Handle>(Handle{Space(threads), threads, place, priority})) {}
Stream::~Stream() = default;
int Stream::threads() const { return handle_->threads; }
bool Stream::is_of_host() const { return handle_->place == Place::host; }
void adopt_threads(const Stream&) {}

void Stream::wait() {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  on.refuse_recording(*this, "a wait of the host");
  if (on.calls.waits++ == on.forgetting.wait) return;
  raise(on.own(), on.queued[this]);
}

struct Event::Mark {
  testing::Clock before{};
};

Event::Event() : mark_(std::make_unique<Mark>()) {}
Event::~Event() = default;

void Event::record(Stream& stream) {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  on.refuse_recording(stream, "an event");
  mark_->before = {};
  if (on.calls.records++ == on.forgetting.record) return;
  mark_->before = on.queued[&stream];
  raise(mark_->before, on.own());
}

void Event::hold(Stream& stream) const {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  on.refuse_recording(stream, "a hold");
  if (on.calls.holds++ == on.forgetting.hold) return;
  raise(on.queued[&stream], mark_->before);
}

void Event::wait() const {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  if (on.calls.waits++ == on.forgetting.wait) return;
  raise(on.own(), mark_->before);
}

struct Moment::Mark {
  testing::Clock before{};
  bool reached = true;
};

Moment::Moment() : mark_(std::make_unique<Mark>()) {}
Moment::~Moment() = default;

void Moment::mark(Stream& stream) {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  on.refuse_recording(stream, "a moment");
  mark_->before = on.queued[&stream];
  raise(mark_->before, on.own());
  mark_->reached = false;
}

bool Moment::reached() const { return mark_->reached; }

void Moment::wait() const {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  mark_->reached = true;
  if (on.calls.waits++ == on.forgetting.wait) return;
  raise(on.own(), mark_->before);
}

double Moment::seconds_since(const Moment&) const { return 0; }

struct Recording::Graph {
  testing::Ops ops;
};

Recording::Recording() = default;
Recording::~Recording() = default;
bool Recording::is_possible() { return device().records; }
bool Recording::is_made() const { return graph_ && !graph_->ops.empty(); }

void Recording::begin(Stream& stream) {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  graph_ = std::make_unique<Graph>();
  on.recordings[&stream] = &graph_->ops;
}

void Recording::end(Stream& stream) {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  on.recordings.erase(&stream);
  ++on.calls.recorded;
}

void Recording::abandon(Stream& stream) noexcept {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  on.recordings.erase(&stream);
}

void Recording::queue(Stream& stream) const {
  auto& on = device();
  const std::lock_guard lock(on.mutex);
  for (const plan::PlanOp* op : graph_->ops) on.queue(stream, *op);
  on.calls.replayed += int(graph_->ops.size());
}

}  // namespace zero
