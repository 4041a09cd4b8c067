#include "zero/run/executor.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

#include "src/run/disk_sums.hpp"
#include "src/run/host_mail.hpp"
#include "src/run/lane_runner.hpp"
#include "src/run/profile_rows.hpp"
#include "src/run/tier_arenas.hpp"
#include "src/run/trace_ring.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/run/disk_window.hpp"

namespace zero::run {
namespace {

using plan::BodyId;
using plan::kLanes;

/// This rank's number, from whichever communicator there is; rank 0 of a plan for one.
int rank_of(const plan::Plan& plan, const LaneComms& comms) {
  int rank = 0;
  bool found = false;
  for (const comm::Communicator* comm : comms) {
    if (comm == nullptr) continue;
    ZERO_REQUIRE(comm->ranks() == plan.request.ranks, "a plan for ", plan.request.ranks,
                 " ranks, a communicator of ", comm->ranks());
    rank = comm->rank();
    found = true;
  }
  ZERO_REQUIRE(found || plan.request.ranks == 1, "a plan for ", plan.request.ranks,
               " ranks needs communicators");
  return rank;
}

bool uses_disk(const plan::Plan& plan) { return plan.arena_bytes[size_t(plan::Tier::nvme)] > 0; }

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
    ZERO_REQUIRE(lane.comm != nullptr || !plan::is_collective(op.kind), plan::name_of(op.kind),
                 " on lane ", plan::name_of(op.lane), ", which has no communicator");
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
  Impl(const plan::Plan& plan, const Rules& rules, const LaneComms& comms, const LaneDisks& disks)
      : plan_(plan), rules_(rules), arenas_(plan, comms), host_stream_(1) {
    lend_rates_to_device();
    memory_.rank = rank_of(plan, comms);
    for (int tier = 0; tier < plan::kTiers; ++tier) {
      memory_.base[size_t(tier)] = arena(plan::Tier(tier)).data();
    }
    if (uses_disk(plan)) open_window(disks);
    make_lanes(comms, disks);
    crew.inputs_there = &inputs_there_;
    if (!arena(plan::Tier::device).on_host()) open_mail();
  }

  void open_windows() { arenas_.open_windows(); }

  void fill_disk() {
    if (window && !filled_) window->fill();
    filled_ = true;
  }

  void run(BodyId body, const kernels::StepInputs& inputs) {
    fill_disk();
    set_inputs(body, inputs);
    crew.times = {};  // those of a read ahead are its run's
    crew.step = inputs.step;
    if (body != plan::kEvaluate) read_ahead();
    if (trace_) crew.op_times = trace_->begin(body, inputs.step);
    run_lanes(body);
    if (trace_) trace_->end(body);
  }

  void run_chunk(BodyId body, const kernels::DecodeInputs& inputs) {
    set_inputs(body, inputs);
    crew.times = {};
    run_lanes(body);
  }

  std::span<std::byte> mail_slot(int32_t buffer) {
    const std::lock_guard lock(copying_);
    return mail_.slot(buffer, host_stream_);
  }
  void send_mail(int32_t buffer, int64_t bytes) {
    const std::lock_guard lock(copying_);
    mail_.send(buffer, 0, bytes, host_stream_);
  }

  bool on_host(int32_t buffer) const {
    return !is_on_disk(buffer) && arena(plan_.buffers[size_t(buffer)].tier).on_host();
  }

  std::span<std::byte> bytes(int32_t buffer) {
    ZERO_REQUIRE(is_on_disk(buffer) || on_host(buffer), "buffer ",
                 plan_.buffers.at(size_t(buffer)).name, " lies in device memory");
    return buffer_bytes(plan_, memory_, buffer);
  }
  const Arena& arena(plan::Tier tier) const { return arenas_.of(tier); }

  void read(int32_t buffer, int64_t offset, std::span<std::byte> out) {
    if (is_on_disk(buffer)) return window->read(buffer, offset, out);
    if (state_is_up_ && buffer == plan_.step_state) {
      const auto state = mail_.state().subspan(size_t(offset), out.size());
      std::copy(state.begin(), state.end(), out.begin());
      return;
    }
    const std::span<std::byte> from =
        buffer_bytes(plan_, memory_, buffer).subspan(size_t(offset), out.size());
    if (on_host(buffer)) {
      std::copy(from.begin(), from.end(), out.begin());
    } else {
      copy(from, out.data());
    }
  }

  void write(int32_t buffer, int64_t offset, std::span<const std::byte> in) {
    if (is_on_disk(buffer)) {
      copies_are_true_ = false;
      return window->write(buffer, offset, in);
    }
    if (buffer == plan_.step_state) state_is_up_ = false;
    std::byte* const to =
        buffer_bytes(plan_, memory_, buffer).subspan(size_t(offset), in.size()).data();
    if (on_host(buffer)) {
      std::copy(in.begin(), in.end(), to);
    } else {
      copy(in, to);
    }
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
    if (!Recording::is_possible()) return;
    std::array<LaneSegments, kLanes> segments = make_segments(plan_, 1);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (lanes_[lane]) lanes_[lane]->set_segments(std::move(segments[lane]));
    }
  }
  std::vector<TracedBody> trace() const {
    return trace_ ? trace_->bodies() : std::vector<TracedBody>{};
  }

  Crew crew;
  std::optional<DiskWindow> window;  ///< where the plan keeps something on disk
  int64_t reads_ahead = 0;

 private:
  bool is_on_disk(int32_t buffer) const {
    return plan_.buffers.at(size_t(buffer)).tier == plan::Tier::nvme;
  }

  /// To or from a device, between bodies only; several threads take turns.
  void copy(std::span<const std::byte> from, std::byte* to) {
    const std::lock_guard lock(copying_);
    copy_bytes(host_stream_, from, to);
    host_stream_.wait();
  }

  /// Kernels read the table of learning rates.
  void lend_rates_to_device() {
    kernels::DecideRule& rule = rules_.decide;
    if (!drives_devices() || rule.learning_rates == nullptr) return;
    const int64_t bytes = rule.learning_rate_count * int64_t(sizeof(float));
    rates_ = Arena(bytes, Place::pinned);
    std::memcpy(rates_.data(), rule.learning_rates, size_t(bytes));
    rule.learning_rates = reinterpret_cast<const float*>(rates_.data());
  }

  void open_window(const LaneDisks& disks) {
    ZERO_REQUIRE(disks.read != nullptr && disks.write != nullptr && plan_.disk_window >= 0,
                 "a plan with ", plan_.arena_bytes[size_t(plan::Tier::nvme)],
                 " bytes on disk needs one");
    window.emplace(plan_, disks, bytes(plan_.disk_window));
  }

  template <class Inputs>
  void set_inputs(BodyId body, const Inputs& inputs) {
    ZERO_REQUIRE(!crew.failure.raised(), "this executor has failed before: make a new one");
    const int32_t place = inputs_buffer(plan_, body, sizeof(inputs));
    const std::span<std::byte> slot = mail_slot(place);
    if (slot.empty()) return write(place, 0, std::as_bytes(std::span(&inputs, 1)));
    std::memcpy(slot.data(), &inputs, sizeof(inputs));
    send_mail(place, sizeof(inputs));
  }

  void open_mail() {
    mail_ = HostMail(plan_, memory_);
    crew.at_end = [this](Stream& stream) { mail_.fetch_state(stream); };
  }

  /// Every body leaves copies true; the host does not.
  void read_ahead() {
    if (copies_are_true_) return;
    crew.op_times = {};
    run_lanes(plan::kReadAhead);
    ++reads_ahead;
    copies_are_true_ = true;
  }

  void run_lanes(BodyId body) {
    crew.begin(body);
    crew.origin.mark(host_stream_);
    crew.origin_time = OpTime::Clock::now();
    inputs_there_.record(host_stream_);
    for (size_t lane = 1; lane < kLanes; ++lane) {
      if (busy(lane, body)) lanes_[lane]->begin(body);
    }
    lanes_[0]->run(body);
    await_other_lanes(body);
    crew.failure.rethrow();
    mail_.arrived();
    state_is_up_ = bool(crew.at_end);
  }

  bool busy(size_t lane, BodyId body) const {
    return lanes_[lane] != nullptr && lanes_[lane]->has_ops(body);
  }

  /// What others still do when compute has ended is exposed like its waits between ops.
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
      setups[lane].comm = comms[lane];
    }
    setups[size_t(plan::Lane::disk_read)].disk = disks.read;
    setups[size_t(plan::Lane::disk_write)].disk = disks.write;
    setups[size_t(plan::Lane::host_optimizer)].disk = disks.write;
    const BindTarget target{plan_, rules_, memory_};
    for (size_t id = 0; id < plan::kBodies; ++id) bind_body(target, id, setups, rows_);
    if (uses_disk(plan_)) hand_sums_over(all_ops(setups));
    auto segments = make_segments(plan_, Recording::is_possible() ? kRecordedOps : 1);
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
  }

  const plan::Plan& plan_;
  Rules rules_;
  TierArenas arenas_;
  Arena rates_;
  Stream host_stream_;
  Event inputs_there_;
  HostMail mail_;
  bool state_is_up_ = false;  ///< the mail has what is in device memory
  std::mutex copying_;
  RankMemory memory_;
  bool filled_ = false;
  std::optional<TraceRing> trace_;
  ProfileRows rows_;
  std::array<std::unique_ptr<LaneRunner>, kLanes> lanes_;
  std::atomic<bool> copies_are_true_{false};
};

Executor::Executor(const plan::Plan& plan, const Rules& rules, const LaneComms& comms,
                   const LaneDisks& disks)
    : impl_(std::make_unique<Impl>(plan, rules, comms, disks)) {}
Executor::~Executor() = default;

void Executor::open_windows() { impl_->open_windows(); }
void Executor::fill_disk() { impl_->fill_disk(); }
void Executor::rewrite_disk() {
  if (impl_->window) impl_->window->rewrite();
}
DiskTrial Executor::try_disk(double most, bool writes) {
  return impl_->window ? impl_->window->try_out(most, writes) : DiskTrial{};
}
void Executor::run(BodyId body, const kernels::StepInputs& inputs) { impl_->run(body, inputs); }
void Executor::run_chunk(BodyId body, const kernels::DecodeInputs& inputs) {
  impl_->run_chunk(body, inputs);
}
bool Executor::on_host(int32_t buffer) const { return impl_->on_host(buffer); }
std::span<std::byte> Executor::mail_slot(int32_t buffer) { return impl_->mail_slot(buffer); }
void Executor::send_mail(int32_t buffer, int64_t bytes) { impl_->send_mail(buffer, bytes); }
std::span<std::byte> Executor::bytes(int32_t buffer) { return impl_->bytes(buffer); }
void Executor::read(int32_t buffer, int64_t offset, std::span<std::byte> out) {
  impl_->read(buffer, offset, out);
}
void Executor::write(int32_t buffer, int64_t offset, std::span<const std::byte> in) {
  impl_->write(buffer, offset, in);
}
const Arena& Executor::arena(plan::Tier tier) const { return impl_->arena(tier); }
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
