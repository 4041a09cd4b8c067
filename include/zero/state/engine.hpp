#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/comm/backends.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/launch/board.hpp"
#include "zero/launch/lookout.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"
#include "zero/setup/build.hpp"
#include "zero/state/communicators.hpp"
#include "zero/state/disk.hpp"
#include "zero/state/spike_window.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {

/// The use of a lane of this rank in all bodies so far.
struct LaneUse {
  double busy_seconds = 0;    ///< a lane that communicates is also busy while it waits for a peer
  double waited_seconds = 0;  ///< waits for other lanes; for compute also for their ends
  int64_t bytes = 0;          ///< copied, read, written, or sent to other ranks

  /// Returns the bytes a second of busy time; 0 for a lane that moves none.
  double rate() const { return busy_seconds > 0 ? double(bytes) / busy_seconds : 0; }
};
using LaneUses = std::array<LaneUse, plan::kLanes>;

/// Returns the bytes that each lane of a body copies between device and host.
std::array<int64_t, plan::kLanes> copied_bytes(const plan::Body& body);

/// Returns the use of lanes as text: a line for each lane that moved bytes, and compute's waiting
/// time; "" if none did.
std::string lane_table(const LaneUses& lanes);

/// Returns the back end by which the session's ranks exchange data.
comm::Backend backend_of(const launch::Session& session);

/// Returns the reason for which ranks on several nodes exchange in one level, as
/// comm::why_one_level() or as the environment has it. Returns "" if they do not, or by NCCL.
std::string why_one_level(const launch::Session& session, const comm::Nodes& nodes);

/// Returns a communicator of the session's ranks on these nodes for each of run::lane_teams() of
/// `groups`. On the host the back end is the rank's memory (one rank), shared memory (one node),
/// two levels (several nodes) or MPI. In the environment, ZERO_COMM=mpi forces MPI, also on one
/// node, and ZERO_COMM=flat one level over several nodes. With devices it is NCCL, or the host's,
/// staged, if ranks share a device. ZERO_COMM=nccl forces NCCL. Only lane reduce's communicator
/// makes sums. Collective.
std::vector<std::unique_ptr<comm::Communicator>> make_communicators(const launch::Session& session,
                                                                    const comm::Nodes& nodes,
                                                                    const plan::Groups& groups);

/// The memory and lanes of a rank, which run the bodies of a plan. While the engine lives, a
/// watchdog guards the bodies, and the session's peers wherever they wait for each other.
class Engine {
 public:
  /// Steps for whose time a watchdog waits, where the user sets none.
  static constexpr double kPatientSteps = 20;

  struct Options {
    uint64_t seed = 0;             ///< seed of the initial weights
    double watchdog_seconds = 30;  ///< time without a finished op until all ranks are ended
    /// Waits longer by steps that take longer than was forecast, and, over several nodes, while
    /// bytes move.
    bool watchdog_grows = false;
    DiskHomes disk = {};          ///< homes of a plan that keeps bytes on disk
    DiskRates disk_rates = {};    ///< expected of that disk; a slower one causes a warning
    bool draws_weights = true;    ///< false if a checkpoint is loaded next
    bool fast_attention = false;  ///< numerics.attention of this process
    SpikeRule spikes = {};        ///< rule of numerics.spike_factor
  };
  /// Takes the memory and the disk of the build's plan, and fills the step state and the initial
  /// weights, or zeros if these are not drawn. Throws Ended if a rank lacks the memory. Collective.
  /// REQUIRES: `session`, `comms`, `build` and the views of `rules` outlive the engine.
  Engine(launch::Session& session, const Communicators& comms, const setup::Build& build,
         const run::Rules& rules, const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Runs a body of the plan as the step inputs say. An error on any lane ends all ranks from
  /// inside.
  void run(plan::BodyId body, const kernels::StepInputs& inputs);

  const plan::Plan& plan() const { return build_.plan; }
  run::Executor& executor() { return *executor_; }
  /// Returns the communicators of this rank, which are idle between runs.
  const run::LaneComms& lane_comms() const { return lane_comms_; }
  /// Returns the step state. REQUIRES: no body runs.
  kernels::StepState state() const;
  void set_state(const kernels::StepState& state);
  /// Returns the memory by which steps are told from spikes.
  SpikeWindow& spikes() { return spikes_; }
  StateView view();
  /// Returns the disk, which may outlive the engine; null if the plan keeps nothing there.
  const std::shared_ptr<Disk>& disk() const { return disk_; }

  /// Runs `work` as Session::on_every_rank, and waits for ranks with slower disks. It moves up to
  /// `bytes` to or from disks. `name` is for a warning. Collective.
  void on_every_rank_at_disk(const std::string& name, int64_t bytes,
                             const std::function<void()>& work);

  /// Sets the rates for warnings of a slow disk, from now on. REQUIRES: the plan keeps bytes on
  /// disk.
  void expect_of_disk(const DiskRates& rates) { pace_->expect(rates); }

  /// Returns the number of runs of a body so far.
  int64_t runs(plan::BodyId body) const {
    return body == plan::kReadAhead ? executor_->reads_ahead() : runs_[body];
  }
  double last_seconds() const { return last_seconds_; }
  /// Returns a watchdog, with this engine's patience, for other work in which ranks wait for each
  /// other. `finished` counts what is done, and `running` describes what is not.
  std::unique_ptr<launch::Watchdog> make_watchdog(std::function<int64_t()> finished,
                                                  std::function<std::string()> running) const;

  /// Returns the seconds that compute waited for other lanes in the last run.
  double exposed_seconds() const;
  /// Returns the seconds that compute was busy in the last run.
  double compute_seconds() const;
  /// Returns the use of each lane in all runs, including evaluations.
  LaneUses lanes() const;
  /// Returns the traffic of all lanes since the engine began, by verb, over backend().
  comm::TrafficTable traffic() const;
  /// Returns the collectives of texts between runs, over the same communicators, as their own plans
  /// forecast them.
  plan::CollectiveForecasts& planned_of_texts() { return planned_of_texts_; }
  std::string backend() const;
  /// The bytes that moved to and from this rank's disk. `bodies`: by bodies. `all`: also by the
  /// start, checkpoints and other work of the host between bodies. `kernel`: by this process since
  /// the engine began, as the kernel counts.
  struct DiskTraffic {
    DiskBytes bodies, all, kernel;
  };
  DiskTraffic disk_traffic() const;
  /// Returns the bytes in use on this rank's device before this engine, by all users: contexts,
  /// code, communicators. -1 if the device is the host.
  int64_t device_bytes_before() const { return device_bytes_before_; }
  /// Returns the bytes taken on a tier: the plan's, on disk in whole blocks and with second slots.
  int64_t allocated_bytes(plan::Tier tier) const;

 private:
  launch::Board& board() const;
  comm::TrafficTable sent_by(size_t comm) const;
  DiskBytes moved_by_lanes() const { return disk_ ? disk_->moved() : DiskBytes{}; }
  DiskBytes disk_moved() const;
  run::LaneDisks open_disk(const Options& options);
  void register_staging();
  void start_watchdog();
  void wait_for_steps_of(double seconds);
  void add_times(plan::BodyId body);
  void look_at_disk();
  void look_at_links();

  launch::Session& session_;
  const std::vector<std::unique_ptr<comm::Communicator>>& comms_;
  const std::vector<run::LaneTeam> lane_teams_;  ///< [communicators]
  const run::LaneComms lane_comms_;
  std::vector<comm::TrafficTable> sent_before_ = {};  ///< [communicators] before this engine
  const setup::Build& build_;
  SpikeWindow spikes_;
  std::shared_ptr<Disk> disk_;
  std::optional<DiskPace> pace_;
  DiskBytes disk_of_bodies_, kernel_before_;
  int64_t device_bytes_before_ = -1;
  std::unique_ptr<run::Executor> executor_;
  std::array<int64_t, plan::kBodies> runs_{};
  plan::CollectiveForecasts planned_of_texts_{};
  LaneUses lanes_{};  ///< uses; bytes are those of copies alone
  std::array<std::array<int64_t, plan::kLanes>, plan::kBodies> copied_{};  ///< bytes of a run
  double last_seconds_ = 0;
  double watchdog_seconds_;
  const bool watchdog_grows_;
  std::unique_ptr<launch::Watchdog> watchdog_;
};

/// Fills unwritten parts of the engine's disk with zeros, and times it for a moment. Returns the
/// rates to expect, which warnings then go by: those measured while all ranks did so, or `expected`
/// if the page cache is in between. Collective.
DiskRates warm_up_disk(Engine& engine, const DiskRates& expected);

}  // namespace zero::state
