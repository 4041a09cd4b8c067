#include "zero/run/executor.hpp"

#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "src/run/bound_op.hpp"
#include "src/run/disk_sums.hpp"
#include "src/run/lane_op_times.hpp"
#include "src/run/lane_runner.hpp"
#include "src/run/rank_buffers.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/gradients.hpp"
#include "zero/run/disk_window.hpp"

namespace zero::run {
namespace {

using plan::BodyId;
using plan::kLanes;

/// Returns this rank's number from a communicator of all ranks. 0 for a plan for one rank.
int rank_of(const plan::Plan& plan, const LaneComms& comms) {
  int rank = 0;
  bool found = false;
  for (const TeamComms& lane : comms) {
    const comm::Communicator* const comm = lane.at(plan::Team::all);
    if (comm == nullptr) continue;
    rank = comm->rank();
    found = true;
  }
  ZERO_REQUIRE(found || plan.request.ranks == 1, "a plan for ", plan.request.ranks,
               " ranks needs communicators");
  return rank;
}

/// Checks that each communicator has the ranks of its team, in the plan's order.
void check_teams(const plan::Plan& plan, const LaneComms& comms, int rank) {
  const plan::Groups groups = plan.request.groups();
  for (const TeamComms& lane : comms) {
    for (const plan::Team team : plan::kAllTeams) {
      const comm::Communicator* const comm = lane.at(team);
      if (comm == nullptr) continue;
      ZERO_REQUIRE(
          comm->ranks() == groups.ranks_of(team) && comm->rank() == groups.place(team, rank),
          "a plan for ", groups.ranks_of(team), " ranks, this one at ", groups.place(team, rank),
          ", a communicator of ", comm->ranks(), ", this one at ", comm->rank());
    }
  }
}

using LaneSetups = std::array<LaneSetup, kLanes>;

std::vector<BoundOp*> all_ops(LaneSetups& lanes) {
  std::vector<BoundOp*> all;
  for (LaneSetup& lane : lanes) {
    for (std::vector<LaneOp>& ops : lane.ops) {
      for (LaneOp& op : ops) all.push_back(&op.bound);
    }
  }
  return all;
}

void bind_body(const BindTarget& target, size_t id, LaneSetups& lanes, ProfileRows& rows) {
  const plan::Body& body = target.plan.bodies[id];
  for (size_t place = 0; place < body.ops.size(); ++place) {
    const plan::PlanOp& op = body.ops[place];
    LaneSetup& lane = lanes[size_t(op.lane)];
    ZERO_REQUIRE(lane.comms.at(op.team) != nullptr || !plan::is_collective(op.kind),
                 plan::name_of(op.kind), " on lane ", plan::name_of(op.lane),
                 ", which has no communicator of ", plan::name_of(op.team));
    ZERO_REQUIRE(lane.disk != nullptr || !plan::is_disk_transfer(op.kind), plan::name_of(op.kind),
                 " on lane ", plan::name_of(op.lane), ", which has no disk");
    BoundOp bound = bind(target, body, op);
    const int32_t row = rows.of(bound);
    std::string region = region_of(bound);
    lane.ops[id].push_back({.bound = std::move(bound),
                            .place = int32_t(place),
                            .row = row,
                            .phase = phase_of(target.plan, BodyId(id), op),
                            .region = std::move(region)});
  }
}

}  // namespace

class Executor::Impl {
 public:
  Impl(const plan::Plan& plan, const Rules& rules, const LaneComms& comms, const LaneDisks& disks,
       Arena device)
      : rehearses(drives_devices() && device.bytes() == 0),
        buffers(plan, rank_of(plan, comms), comms, disks, std::move(device)),
        plan_(plan),
        rules_(rules),
        forms_(plan) {
    check_teams(plan, comms, buffers.memory().rank);
    lend_rates_to_device();
    make_lanes(comms, disks);
    plan::write_constants(plan, [&](int32_t buffer, std::span<const std::byte> values) {
      buffers.write(buffer, 0, values);
    });
    crew.inputs_there = &inputs_there_;
    if (buffers.has_mail()) crew.at_end = [this](Stream& stream) { buffers.fetch_state(stream); };
  }

  void run(BodyId body, const kernels::StepInputs& inputs) {
    if (buffers.disk()) buffers.disk()->fill();
    set_inputs(body, inputs);
    crew.times = {};  // a read ahead adds to this run's times
    crew.step = inputs.step;
    if (body != plan::kEvaluate && body != plan::kAudit) read_ahead();
    if (trace_) crew.op_times = trace_->begin(body, inputs.step);
    run_lanes(body);
    if (trace_) trace_->end(body);
  }

  void run_chunk(BodyId body, const kernels::DecodeInputs& inputs) {
    set_inputs(body, inputs);
    crew.times = {};
    run_lanes(body);
  }

  void choose_form(int32_t graph, int64_t micro, size_t form) {
    forms_.choose(plan_, graph, micro, form);
  }

  std::vector<Profile> profile() const {
    std::vector<Profile> table;
    for (size_t row = 0; row < rows_.names().size(); ++row) {
      Profile line{.name = rows_.names()[row], .seconds = 0, .calls = 0};
      for (const auto& lane : lanes_) {
        if (lane == nullptr) continue;
        line.seconds += lane->tallies()[row].seconds;
        line.calls += lane->tallies()[row].calls;
      }
      if (line.calls > 0) table.push_back(line);
    }
    return table;
  }

  PhaseSeconds phase_seconds() const {
    PhaseSeconds sum{};
    for (const auto& lane : lanes_) {
      if (lane == nullptr) continue;
      for (size_t phase = 0; phase < sum.size(); ++phase) {
        sum[phase] += lane->phase_seconds()[phase];
      }
    }
    return sum;
  }

  void clear_profile() {
    for (const auto& lane : lanes_) {
      if (lane != nullptr) lane->clear_tallies();
    }
  }

  void keep_trace(int bodies) {
    trace_.emplace(plan_, bodies);
    queue_one_by_one();
  }
  void queue_one_by_one() {
    if (most_ops() == 1) return;
    std::array<LaneSegments, kLanes> segments = make_segments(plan_, 1);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (lanes_[lane]) lanes_[lane]->set_segments(std::move(segments[lane]));
    }
  }
  std::vector<TracedBody> trace() const {
    return trace_ ? trace_->bodies() : std::vector<TracedBody>{};
  }

  /// True if the device's arena may be overwritten. A lent arena may hold data that others need.
  const bool rehearses;
  Crew crew;
  RankBuffers buffers;
  int64_t reads_ahead = 0;

 private:
  /// Copies the table of learning rates to pinned memory, because kernels read it.
  void lend_rates_to_device() {
    kernels::DecideRule& rule = rules_.decide;
    if (!drives_devices() || rule.learning_rates == nullptr) return;
    const int64_t bytes = rule.learning_rate_count * int64_t(sizeof(float));
    rates_ = Arena(bytes, Place::pinned);
    std::memcpy(rates_.data(), rule.learning_rates, size_t(bytes));
    rule.learning_rates = reinterpret_cast<const float*>(rates_.data());
  }

  template <class Inputs>
  void set_inputs(BodyId body, const Inputs& inputs) {
    ZERO_REQUIRE(!crew.failure.raised(), "this executor has failed before: make a new one");
    const int32_t place = inputs_buffer(plan_, body, sizeof(inputs));
    buffers.fill<Inputs>(place, 1, [&](std::span<Inputs> there) { there[0] = inputs; });
  }

  void read_ahead() {
    if (buffers.copies_are_true) return;
    crew.op_times = {};
    run_lanes(plan::kReadAhead);
    ++reads_ahead;
    buffers.copies_are_true = true;
  }

  void run_lanes(BodyId body) {
    crew.begin(body);
    crew.origin.mark(buffers.host_stream());
    crew.origin_time = OpTime::Clock::now();
    inputs_there_.record(buffers.host_stream());
    for (size_t lane = 1; lane < kLanes; ++lane) {
      if (busy(lane, body)) lanes_[lane]->begin(body);
    }
    lanes_[0]->run(body);
    await_other_lanes(body);
    crew.failure.rethrow();
    buffers.settle();
  }

  bool busy(size_t lane, BodyId body) const {
    return lanes_[lane] != nullptr && lanes_[lane]->has_ops(body);
  }

  /// Counts the time of other lanes after compute has ended as a wait of compute.
  void await_other_lanes(BodyId body) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (size_t lane = 1; lane < kLanes; ++lane) {
      if (busy(lane, body)) lanes_[lane]->finish();
    }
    const std::chrono::duration<double> waited = Clock::now() - start;
    crew.times[size_t(plan::Lane::compute)].wait_seconds += waited.count();
  }

  void make_lanes(const LaneComms& comms, const LaneDisks& disks) {
    LaneSetups setups;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      setups[lane].lane = plan::Lane(lane);
      setups[lane].threads = computes(plan::Lane(lane)) ? plan_.request.threads : 1;
      setups[lane].comms = comms[lane];
    }
    setups[size_t(plan::Lane::disk_read)].disk = disks.read;
    setups[size_t(plan::Lane::disk_write)].disk = disks.write;
    setups[size_t(plan::Lane::host_optimizer)].disk = disks.write;
    const BindTarget target{plan_, rules_, buffers.memory(), &forms_};
    for (size_t id = 0; id < plan::kBodies; ++id) bind_body(target, id, setups, rows_);
    if (buffers.disk()) hand_sums_over(all_ops(setups));
    auto segments = make_segments(plan_, most_ops());
    for (size_t lane = 0; lane < kLanes; ++lane) {
      setups[lane].segments = std::move(segments[lane]);
      setups[lane].rows = rows_.names().size();
      bool used = lane == 0;
      for (const auto& ops : setups[lane].ops) used = used || !ops.empty();
      if (!used) continue;
      lanes_[lane] = std::make_unique<LaneRunner>(crew, std::move(setups[lane]));
      if (lane != 0) lanes_[lane]->launch();
    }
    lanes_[0]->prepare();
    if (rehearses) rehearse();
  }

  /// Rehearses and clears the device's arena afterwards.
  void rehearse() {
    lanes_[0]->rehearse();
    Stream& stream = buffers.host_stream();
    kernels::clear_bytes(stream, plan_.arena_bytes[size_t(plan::Tier::device)],
                         buffers.memory().base[size_t(plan::Tier::device)]);
    stream.wait();
  }

  const plan::Plan& plan_;
  Rules rules_;
  ChosenForms forms_;
  Arena rates_;
  Event inputs_there_;
  std::optional<TraceRing> trace_;
  ProfileRows rows_;
  std::array<std::unique_ptr<LaneRunner>, kLanes> lanes_;
};

std::vector<LaneTeam> lane_teams(const plan::Groups& groups) {
  using plan::Lane, plan::Team;
  if (groups.count() == 1)
    return {{Lane::gather, Team::all}, {Lane::reduce, Team::all}, {Lane::small, Team::all}};
  return {{Lane::gather, Team::group},
          {Lane::reduce, Team::group},
          {Lane::small, Team::all},
          {Lane::gather, Team::across},
          {Lane::reduce, Team::across}};
}

Executor::Executor(const plan::Plan& plan, const Rules& rules, const LaneComms& comms,
                   const LaneDisks& disks, Arena device)
    : impl_(std::make_unique<Impl>(plan, rules, comms, disks, std::move(device))) {}
Executor::~Executor() = default;

void Executor::open_windows() { impl_->buffers.open_windows(); }
Buffers& Executor::buffers() { return impl_->buffers; }
DiskWindow* Executor::disk() { return impl_->buffers.disk(); }
void Executor::run(BodyId body, const kernels::StepInputs& inputs) { impl_->run(body, inputs); }
void Executor::choose_form(int32_t graph, int64_t micro, size_t form) {
  impl_->choose_form(graph, micro, form);
}
void Executor::run_chunk(BodyId body, const kernels::DecodeInputs& inputs) {
  impl_->run_chunk(body, inputs);
}
std::span<const LaneTimes> Executor::times() const { return impl_->crew.times; }
std::span<const LaneProgress> Executor::progress() const { return impl_->crew.progress; }
int64_t Executor::reads_ahead() const { return impl_->reads_ahead; }
BodyId Executor::body() const { return impl_->crew.body.load(); }
std::vector<Executor::Profile> Executor::profile() const { return impl_->profile(); }
PhaseSeconds Executor::phase_seconds() const { return impl_->phase_seconds(); }
void Executor::clear_profile() { impl_->clear_profile(); }
void Executor::keep_trace(int bodies) { impl_->keep_trace(bodies); }
void Executor::queue_one_by_one() { impl_->queue_one_by_one(); }
std::vector<TracedBody> Executor::trace() const { return impl_->trace(); }

void Executor::set_op_hook(std::function<void(plan::Lane, const plan::PlanOp&)> hook) {
  impl_->crew.op_hook = std::move(hook);
}
void Executor::set_error_hook(std::function<void()> h) { impl_->crew.error_hook = std::move(h); }

}  // namespace zero::run
