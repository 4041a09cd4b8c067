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
#include "zero/launch/session.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"
#include "zero/state/build.hpp"
#include "zero/state/communicators.hpp"
#include "zero/state/disk.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {

/// What a lane of this rank has done in all bodies so far.
struct LaneUse {
  double busy_seconds = 0;    ///< of a lane that ranks meet on also while it waits for a peer
  double waited_seconds = 0;  ///< for other lanes; of compute also for their ends
  int64_t bytes = 0;          ///< copied, read, written, or sent to other ranks

  /// Bytes a second of busy time; 0 of a lane that moves none.
  double rate() const { return busy_seconds > 0 ? double(bytes) / busy_seconds : 0; }
};
using LaneUses = std::array<LaneUse, plan::kLanes>;

/// Bytes that each lane of a body copies between device and host.
std::array<int64_t, plan::kLanes> copied_bytes(const plan::Body& body);

/// For people: a line for each lane that has moved bytes, and of compute how long it waited; ""
/// where none has.
std::string lane_table(const LaneUses& lanes);

/// Through what the ranks of this run exchange.
comm::Backend backend_of(const launch::Session& session);

/// One communicator for each lane that communicates. On the host: of the rank alone, in shared
/// memory where all ranks share a node, else MPI; ZERO_COMM=mpi in the environment forces the last,
/// for tests. With devices: NCCL, or where ranks share a device what the host has, staged;
/// ZERO_COMM=nccl forces NCCL. Lane reduce's communicator alone makes sums. Collective.
std::vector<std::unique_ptr<comm::Communicator>> make_communicators(const launch::Session& session);
/// Each of them on its lane.
run::LaneComms lane_comms(const std::vector<std::unique_ptr<comm::Communicator>>& comms);

/// This rank's memory and lanes: what runs the bodies of a plan. As long as it lives
/// a watchdog is over the bodies, and over the session's peers wherever they wait for each other.
class Engine {
 public:
  struct Options {
    uint64_t seed = 0;             ///< of the initial weights
    double watchdog_seconds = 30;  ///< without a finished op until all ranks are ended
    DiskHomes disk = {};           ///< of a plan that keeps bytes there
    DiskRates disk_rates = {};     ///< what that disk is expected to do; slower is warned of
    bool draws_weights = true;     ///< false where a checkpoint is loaded next
    bool fast_attention = false;   ///< of this process: numerics.attention
  };
  /// Takes the memory and the disk and fills in the step state and the initial weights, which
  /// are zeros where they are not drawn. `session`, `comms`,
  /// `build` and what `rules` views outlive it. Throws Ended where a rank has not the memory.
  /// Collective.
  Engine(launch::Session& session, const Communicators& comms, const Build& build,
         const run::Rules& rules, const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// An error on any lane ends all ranks from inside.
  void run(plan::BodyId body, const kernels::StepInputs& inputs);

  const plan::Plan& plan() const { return build_.plan; }
  run::Executor& executor() { return *executor_; }
  /// The communicators of this rank, which are idle between runs.
  const run::LaneComms& lane_comms() const { return lane_comms_; }
  /// Between runs.
  kernels::StepState state() const;
  void set_state(const kernels::StepState& state);
  StateView view();
  /// Which may outlive the engine; null where the plan keeps nothing there.
  const std::shared_ptr<Disk>& disk() const { return disk_; }

  /// As Session::on_every_rank of work that moves up to `bytes` to or from disks, and `name` in
  /// a warning: a rank whose disk is slower than the others' is waited for. Collective.
  void on_every_rank_at_disk(const std::string& name, int64_t bytes,
                             const std::function<void()>& work);

  /// Sets the rates by which a disk is warned of as slow, from now on. The plan must keep bytes
  /// there.
  void expect_of_disk(const DiskRates& rates) { pace_->expect(rates); }

  int64_t runs(plan::BodyId body) const {
    return body == plan::kReadAhead ? executor_->reads_ahead() : runs_[body];
  }
  double last_seconds() const { return last_seconds_; }
  /// A watchdog with this engine's patience over something else that ranks wait for each other in.
  std::unique_ptr<launch::Watchdog> make_watchdog(std::function<int64_t()> finished,
                                                  std::function<std::string()> running) const;

  /// What compute waited for other lanes in the last run.
  double exposed_seconds() const;
  /// What each lane has done in all runs, evaluations among them.
  LaneUses lanes() const;
  /// What all lanes have sent since the engine began, by verb; and through which back end.
  comm::TrafficTable traffic() const;
  /// Collectives of texts that were written between runs over the same communicators, as their own
  /// plans forecast them.
  plan::CollectiveForecasts& planned_of_texts() { return planned_of_texts_; }
  std::string backend() const;
  /// Bytes that went to and from this rank's disk: in bodies; with them the start, checkpoints and
  /// what else the host does between bodies; and what the kernel has counted of this process since
  /// the engine began.
  struct DiskTraffic {
    DiskBytes bodies, all, kernel;
  };
  DiskTraffic disk_traffic() const;
  /// In use on this rank's device before this engine took any of it, by all that use it: contexts,
  /// code, communicators; -1: the device is the host.
  int64_t device_bytes_before() const { return device_bytes_before_; }
  /// Bytes taken on a tier: as the plan says, on disk in whole blocks and with second slots.
  int64_t allocated_bytes(plan::Tier tier) const;

 private:
  launch::Board& board() const;
  comm::TrafficTable sent_by(size_t comm) const;
  DiskBytes moved_by_lanes() const { return disk_ ? disk_->moved() : DiskBytes{}; }
  DiskBytes disk_moved() const;
  run::LaneDisks open_disk(const Options& options);
  void register_staging();
  void start_watchdog();
  void add_times(plan::BodyId body);
  void look_at_disk();
  void look_at_links();

  launch::Session& session_;
  const std::vector<std::unique_ptr<comm::Communicator>>& comms_;
  const run::LaneComms lane_comms_;
  std::vector<comm::TrafficTable> sent_before_ = {};  ///< by each communicator
  const Build& build_;
  std::shared_ptr<Disk> disk_;
  std::optional<DiskPace> pace_;
  DiskBytes disk_of_bodies_, kernel_before_;
  int64_t device_bytes_before_ = -1;
  std::unique_ptr<run::Executor> executor_;
  std::array<int64_t, plan::kBodies> runs_{};
  plan::CollectiveForecasts planned_of_texts_{};
  LaneUses lanes_{};  ///< with bytes of copies alone
  std::array<std::array<int64_t, plan::kLanes>, plan::kBodies> copied_{};  ///< by a run
  double last_seconds_ = 0;
  double watchdog_seconds_;
  std::unique_ptr<launch::Watchdog> watchdog_;
};

/// What a validation set says of the weights.
struct Evaluation {
  int64_t step = 0;  ///< the weights are those after this step's update
  double loss = 0;   ///< nats a counted token; NaN if any is not finite
  int64_t tokens = 0;
  double seconds = 0;
  /// What texts that are generated for the set's sources are worth.
  struct Texts {
    int64_t count = 0;
    double bleu = 0;         ///< 0 to 100
    double exact_match = 0;  ///< 0 to 1
    double seconds = 0;
  };
  std::optional<Texts> texts = {};  ///< none where none are generated
};

/// Fills the engine's disk with zeros where nothing has been written yet, and tries it for a
/// moment. Returns what a rank can expect of it, which a warning then goes by: what was measured
/// while all ranks did so, or where the page cache stands in between `expected`. Collective.
DiskRates warm_up_disk(Engine& engine, const DiskRates& expected);

}  // namespace zero::state
