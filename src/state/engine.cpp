#include "zero/state/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "src/state/node_memory.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/backends.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"
#include "zero/launch/board.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/sign_of_life.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/plan/rounds.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool wants(const std::string& back_end) {
  const char* wanted = std::getenv("ZERO_COMM");
  return wanted && wanted == back_end;
}

/// Returns a lane's options. Only lane reduce receives parts to add. Lane small shares the
/// connections of `gather` unless null, which hardly speaks meanwhile. Lane reduce has its own, or
/// gathers would wait for sums.
comm::NcclOptions nccl_options(const run::LaneTeam& at, int part,
                               const comm::Communicator* gather) {
  comm::NcclOptions options{.part = part};
  if (at.lane != plan::Lane::reduce) options.staging_bytes = 0;
  if (at.lane == plan::Lane::small) options.shares_with = gather;
  return options;
}

/// Returns the path of the file that keeps measured choices of algorithms for later runs.
std::string product_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache && *cache) return text(cache, "/zeroapp-products.txt");
  return home && *home ? text(home, "/.cache/zeroapp-products.txt") : "";
}

void add(comm::Traffic& sum, const comm::Traffic& part, int times = 1) {
  sum.calls += times * part.calls;
  sum.elements_sent += times * part.elements_sent;
  sum.bytes_sent += times * part.bytes_sent;
  sum.node_bytes_sent += times * part.node_bytes_sent;
}

void add(comm::TrafficTable& sum, const comm::TrafficTable& part, int times = 1) {
  add(sum.all_gather, part.all_gather, times);
  add(sum.reduce_scatter, part.reduce_scatter, times);
  add(sum.all_reduce, part.all_reduce, times);
  add(sum.broadcast, part.broadcast, times);
}

/// True if a lane is in an op that needs no other rank.
bool works(std::span<const run::LaneProgress> progress) {
  for (size_t lane = 0; lane < progress.size(); ++lane) {
    const bool meets = std::ranges::count(plan::kCollectiveLanes, plan::Lane(lane)) != 0;
    if (!meets && progress[lane].running.load() >= 0) return true;
  }
  return false;
}

}  // namespace

comm::Backend backend_of(const launch::Session& session) {
  return comm::backend_for({.count = session.ranks(),
                            .drive_devices = drives_devices(),
                            .share_a_device = session.shares_devices(),
                            .share_a_card = session.shares_cards(),
                            .have_nccl = comm::has_nccl(),
                            .nccl_shares = comm::has_nccl() && comm::nccl_shares_devices(),
                            .want_nccl = wants("nccl")});
}

std::string why_one_level(const launch::Session& session, const comm::Nodes& nodes) {
  const comm::Backend backend = backend_of(session);
  const bool by_host = backend == comm::Backend::host || backend == comm::Backend::staged;
  if (!by_host || nodes.count() == 1) return "";
  for (const char* one : {"mpi", "flat"}) {
    if (wants(one)) return text("ZERO_COMM=", one);
  }
  return comm::why_one_level(nodes);
}

std::vector<std::unique_ptr<comm::Communicator>> make_communicators(const launch::Session& session,
                                                                    const comm::Nodes& nodes,
                                                                    const plan::Groups& groups) {
  const auto of_host = [&](const run::LaneTeam& at) {
    if (wants("mpi")) return comm::make_mpi({.part = groups.part(at.team, session.rank())});
    comm::OfHostsOptions options{.one_level = wants("flat")};
    for (int rank = 0; rank < groups.ranks; ++rank)
      options.part_of.push_back(groups.part(at.team, rank));
    return comm::make_of_hosts(nodes, options);
  };
  const comm::Backend backend = backend_of(session);
  std::vector<std::unique_ptr<comm::Communicator>> comms;
  for (const run::LaneTeam& at : run::lane_teams(groups)) {
    switch (backend) {
      case comm::Backend::self:
        comms.push_back(comm::make_self());
        break;
      case comm::Backend::host:
        comms.push_back(of_host(at));
        break;
      case comm::Backend::staged:
        comms.push_back(comm::make_host_staged(of_host(at), {}));
        break;
      case comm::Backend::nccl:
        comms.push_back(comm::make_nccl(
            nccl_options(at, groups.part(at.team, session.rank()),
                         groups.count() > 1 || comms.empty() ? nullptr : comms.front().get())));
        break;
    }
  }
  return comms;
}

Engine::Engine(launch::Session& session, const Communicators& comms, const setup::Build& build,
               const run::Rules& rules, const Options& options)
    : session_(session),
      comms_(comms.all),
      lane_teams_(run::lane_teams(comms.groups)),
      lane_comms_(comms.lanes()),
      build_(build),
      spikes_(options.spikes),
      watchdog_seconds_(options.watchdog_seconds),
      watchdog_grows_(options.watchdog_grows) {
  for (const auto& comm : comms_) sent_before_.push_back(comm->traffic());
  // Measurements may differ from run to run, and so may the bits.
  kernels::set_product_rules({.measure = !build_.fixed_products, .cache = product_cache()});
  kernels::set_attention_rules({.deterministic = !options.fast_attention});
  require_node_memory(session_, build_);
  session_.on_every_rank([&] {
    device_bytes_before_ = used_device_bytes();
    const run::LaneDisks disks = open_disk(options);
    executor_ = std::make_unique<run::Executor>(build_.plan, rules, lane_comms_, disks);
    // Lanes may wait for peers that will never come, so the failing rank ends all ranks itself.
    executor_->set_error_hook([this] { session_.end_all(std::current_exception()); });
  });
  session_.end_all_on_error([&] { executor_->open_windows(); });
  session_.on_every_rank([&] {
    register_staging();
    if (options.draws_weights) fill_initial_weights(view(), options.seed, session_.threads());
    set_state(kernels::initial_step_state(rules.decide));
  });
  for (size_t body = 0; body < copied_.size(); ++body) {
    copied_[body] = copied_bytes(build_.plan.bodies[body]);
  }
  start_watchdog();
}

run::LaneDisks Engine::open_disk(const Options& options) {
  const int64_t bytes = build_.plan.arena_bytes[size_t(plan::Tier::nvme)];
  if (bytes == 0) return {};
  kernel_before_ = process_disk_bytes();
  disk_ = std::make_shared<Disk>(options.disk, bytes, build_.slotted);
  std::string folders;
  for (const std::string& folder : options.disk.folders) {
    folders += (folders.empty() ? "" : ", ") + folder;
  }
  pace_.emplace(text("rank ", session_.rank(), ": its disk (", folders, ")"), options.disk_rates);
  return disk_->lanes();
}

void Engine::register_staging() {
  if (!disk_) return;
  const plan::Stretch staging = plan::disk_staging(build_.plan);
  std::byte* const host = executor_->buffers().arena(plan::Tier::host).data();
  disk_->register_memory({host + staging.begin, size_t(staging.end - staging.begin)});
  if (session_.is_first() && !disk_->warning().empty()) warn(disk_->warning());
}

int64_t Engine::allocated_bytes(plan::Tier tier) const {
  if (tier == plan::Tier::nvme) return disk_ ? disk_->bytes() : 0;
  return executor_->buffers().arena(tier).bytes();
}

DiskBytes Engine::disk_moved() const {
  DiskBytes moved = moved_by_lanes();
  if (disk_) moved.add(disk_->moved_frozen());
  return moved;
}

Engine::DiskTraffic Engine::disk_traffic() const {
  if (!disk_) return {};
  return {.bodies = disk_of_bodies_,
          .all = disk_moved(),
          .kernel = process_disk_bytes() - kernel_before_};
}

void Engine::start_watchdog() {
  const auto progress = executor_->progress();
  const auto running = [this, progress] {
    return launch::describe_progress(build_.plan, executor_->body(), progress);
  };
  session_.lookout().show_plan(&build_.plan);
  session_.lookout().set_patience(watchdog_seconds_);
  executor_->set_op_hook([this, progress](plan::Lane lane, const plan::PlanOp& op) {
    const plan::BodyId id = executor_->body();
    const plan::Body& body = build_.plan.bodies[id];
    plan::Turn turn = run::turn_running(body, progress[size_t(lane)].running.load());
    turn.op = int32_t(&op - body.ops.data());
    board().begin_op(id, run::running_turn(body, turn));
  });
  // A rank whose peers still finish ops waits for a slow one, not for a hung one. A transfer may
  // take a slow disk longer than any patience, but its blocks do not.
  const auto finished = [this, progress] {
    board().live(works(progress) || (disk_ && disk_->is_moving()),
                 launch::finished_ops(progress) + moved_by_lanes().sum());
    look_at_disk();
    look_at_links();
    // Over a slow link the bytes of an op may travel for longer than any patience.
    const bool counts_bytes = watchdog_grows_ && !session_.lookout().sees_all();
    return counts_bytes ? board().moved() : board().finished_ops();
  };
  watchdog_ = make_watchdog(finished, running);
  session_.peers().watch_with(watchdog_.get());
}

/// Warns of a slow disk, on one rank for all of a node that share the disk.
void Engine::look_at_disk() {
  if (!pace_ || !session_.leads_node()) return;
  const std::chrono::duration<double> now = Clock::now().time_since_epoch();
  const std::string slow = pace_->look(now.count(), disk_->is_moving(), moved_by_lanes());
  if (!slow.empty()) warn(slow);
}

/// Ends all ranks if a back end finds a link lost, long before a watchdog loses its patience.
void Engine::look_at_links() {
  session_.end_all_on_error([&] {
    for (const auto& comm : comms_) comm->require_sound();
  });
}

void Engine::on_every_rank_at_disk(const std::string& name, int64_t bytes,
                                   const std::function<void()>& work) {
  const auto moved = [this] { return disk_moved().sum(); };
  const launch::Asleep asleep(session_.peers());
  session_.on_every_rank([&] {
    launch::SignOfLife sign(session_.peers(),
                            {.name = name.c_str(), .bytes = bytes, .moved = moved});
    work();
    sign.finish();
  });
}

std::unique_ptr<launch::Watchdog> Engine::make_watchdog(
    std::function<int64_t()> finished, std::function<std::string()> running) const {
  return launch::make_watchdog(session_, watchdog_seconds_, std::move(finished),
                               std::move(running));
}

launch::Board& Engine::board() const { return session_.lookout().board(); }

Engine::~Engine() {
  session_.peers().watch_with(nullptr);
  session_.lookout().show_plan(nullptr);
}

void Engine::run(plan::BodyId body, const kernels::StepInputs& inputs) {
  const Clock::time_point start = Clock::now();
  const DiskBytes before = moved_by_lanes();
  {
    const launch::Watchdog::Armed armed(watchdog_.get());
    board().begin_step(inputs.step);
    executor_->run(body, inputs);
  }
  disk_of_bodies_.add(moved_by_lanes() - before);
  const double before_seconds = std::exchange(last_seconds_, seconds_since(start));
  // A single long step may come from a job that was suspended.
  if (watchdog_grows_) wait_for_steps_of(std::min(before_seconds, last_seconds_));
  add_times(body);
  ++runs_[body];
}

/// Raises the patience with steps of these seconds. It never falls.
void Engine::wait_for_steps_of(double seconds) {
  if (kPatientSteps * seconds <= watchdog_seconds_) return;
  watchdog_seconds_ = kPatientSteps * seconds;
  watchdog_->set_timeout(watchdog_seconds_);
  session_.lookout().set_patience(watchdog_seconds_);
}

void Engine::add_times(plan::BodyId body) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const run::LaneTimes& times = executor_->times()[lane];
    lanes_[lane].busy_seconds += times.busy_seconds;
    lanes_[lane].waited_seconds += times.wait_seconds;
    lanes_[lane].bytes += copied_[body][lane];
  }
}

LaneUses Engine::lanes() const {
  LaneUses lanes = lanes_;
  lanes[size_t(plan::Lane::disk_read)].bytes = disk_of_bodies_.read;
  lanes[size_t(plan::Lane::disk_write)].bytes = disk_of_bodies_.written;
  for (size_t i = 0; i < comms_.size(); ++i) {
    const comm::TrafficTable sent = sent_by(i);
    lanes[size_t(lane_teams_[i].lane)].bytes +=
        sent.all_gather.bytes_sent + sent.reduce_scatter.bytes_sent + sent.all_reduce.bytes_sent;
  }
  return lanes;
}

kernels::StepState Engine::state() const {
  kernels::StepState state;
  executor_->buffers().read(build_.plan.step_state, 0,
                            std::as_writable_bytes(std::span(&state, 1)));
  return state;
}

void Engine::set_state(const kernels::StepState& state) {
  executor_->buffers().write(build_.plan.step_state, 0, std::as_bytes(std::span(&state, 1)));
}

StateView Engine::view() { return view_of(build_.plan, session_.rank(), executor_->buffers()); }

double Engine::exposed_seconds() const {
  return executor_->times()[size_t(plan::Lane::compute)].wait_seconds;
}

double Engine::compute_seconds() const {
  return executor_->times()[size_t(plan::Lane::compute)].busy_seconds;
}

comm::TrafficTable Engine::traffic() const {
  comm::TrafficTable sum;
  for (size_t i = 0; i < comms_.size(); ++i) add(sum, sent_by(i));
  return sum;
}

/// Returns the traffic since the engine began, without warm-up and other engines.
comm::TrafficTable Engine::sent_by(size_t comm) const {
  comm::TrafficTable sent = comms_[comm]->traffic();
  add(sent, sent_before_[comm], -1);
  return sent;
}

std::string Engine::backend() const { return std::string(comms_.front()->backend()); }

std::array<int64_t, plan::kLanes> copied_bytes(const plan::Body& body) {
  std::array<int64_t, plan::kLanes> bytes{};
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    const plan::PlanOp& op = body.ops[size_t(i)];
    const bool copies = op.lane == plan::Lane::h2d || op.lane == plan::Lane::d2h;
    if (copies && plan::is_transfer(op.kind)) {
      bytes[size_t(op.lane)] += op.operands[plan::kSource].bytes * plan::times_of(body, i);
    }
  }
  return bytes;
}

std::string lane_table(const LaneUses& lanes) {
  const auto moves = [](const LaneUse& lane) { return lane.bytes > 0; };
  if (std::ranges::none_of(lanes, moves)) return "";
  std::string out = "lanes of rank 0, beside each other\n";
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const LaneUse& use = lanes[lane];
    if (!moves(use) && plan::Lane(lane) != plan::Lane::compute) continue;
    append(out, "  %-14s %9.2f s busy %9.2f s waiting", plan::name_of(plan::Lane(lane)),
           use.busy_seconds, use.waited_seconds);
    if (moves(use)) {
      append(out, "  %12s  %7.2f GB/s", bytes_text(double(use.bytes)).c_str(), 1e-9 * use.rate());
    }
    out += "\n";
  }
  return out;
}

}  // namespace zero::state
