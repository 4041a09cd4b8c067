#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zero/device/device.hpp"
#include "zero/launch/failure.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {

/// Returns the time when the kernel started this process, to a hundredth of a second. Now, if the
/// kernel does not tell. Starting the program again in the same process does not change it.
/// Source: Linux /proc/self/stat, field 22 (starttime).
std::chrono::steady_clock::time_point process_start();

/// The threads, or the device, on which kernels run (Kokkos). At most one exists in a process.
/// Takes the first device if use_device() has chosen none. Throws Error(kUsage or kDevice) without
/// a device, and Error(kUsage) for environment variables that would make Kokkos end the program.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
};

class MovedBytes;

/// A thread that watches this rank and the others of its node, from the return of MPI_Init to that
/// of MPI_Finalize. Ten times a second it gives a sign of life and looks at the others. It ends all
/// ranks if one has died. It also ends them if nothing (bytes, verbs of `Peers`, ops, arithmetic)
/// moves on any rank for ten times the patience of a run's watchdog. The first living rank of the
/// node reports for all. The others then end by themselves, because a launcher takes its time.
class Lookout {
 public:
  /// Seconds: the watchdog's patience in a run that sets none.
  static constexpr double kPatienceSeconds = 30;
  static constexpr double kTimesPatience = 10;

  /// `end_all` prints its argument and ends all ranks. It does not return.
  Lookout(const Peers& peers, std::function<void(const std::string&)> end_all);
  ~Lookout();
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  /// Makes the board. Earlier, this rank sees itself alone. Collective.
  void meet();
  Board& board() const { return *board_; }
  /// True if all ranks can see each other.
  bool sees_all() const { return board_ && board().shows_all(); }

  void enter(Milestone milestone);
  Milestone milestone() const { return milestone_; }
  /// Sets the patience of the run's watchdog.
  void set_patience(double seconds);
  /// Sets the plan of the bodies that run, or null after the last body.
  void show_plan(const plan::Plan* plan);

  /// A scope in which this rank reads files or computes outside bodies. Others may wait longer for
  /// this rank, and its core time counts as progress unless it waits for peers itself. Scopes nest.
  class Busy {
   public:
    explicit Busy(Lookout& lookout) : lookout_(lookout) { lookout_.change_busy(1); }
    ~Busy() { lookout_.change_busy(-1); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Lookout& lookout_;
  };
  /// True if the run's watchdog should leave a stall to this lookout. So it should before the first
  /// step if all ranks are visible, and while a living rank is busy.
  bool is_patient() const {
    return (milestone() < Milestone::steps && sees_all()) || (board_ && board().any_is_busy());
  }

  /// Ends all ranks because nothing has finished for `patience` seconds. `at` is the place of this
  /// rank. The first living rank ends all, the others follow. Never returns.
  [[noreturn]] void give_up(const std::string& at, double patience);
  /// Announces that this rank, which has failed, ends all. The others then end by themselves.
  void announce_end();
  /// True if a lower rank of the node has announced the end. Sleeps for a moment first.
  bool lower_rank_ends() const;
  /// True if any other rank of the node has announced the end. Sleeps for a moment first.
  bool another_ends() const;
  /// Ends this process after another rank has announced the end. Waits first, so that rank can tell
  /// the launcher its status.
  [[noreturn]] void follow_end() const;

  /// Blocks until the other ranks of the node have also left. REQUIRES: MPI_Finalize has returned.
  void leave();

 private:
  int64_t look();
  int64_t worked();
  bool works() const;
  void end_for_dead(int dead);
  void let_first_report(std::span<const Word> words, double patience);
  void change_busy(int by);
  std::vector<Word> words() const;
  std::string place() const;
  [[noreturn]] void end(const std::string& what) const;

  const int rank_;
  const std::shared_ptr<const Peers::Activity> activity_;
  const std::function<void(const std::string&)> end_all_;
  std::unique_ptr<Board> owned_;
  std::atomic<Board*> board_{nullptr};
  std::atomic<Milestone> milestone_{Milestone::start};
  std::atomic<double> timeout_seconds_{kTimesPatience * kPatienceSeconds};
  std::atomic<int> busy_{0};
  double cpu_seconds_ = 0, worked_seconds_ = 0;
  mutable std::mutex plan_mutex_;
  const plan::Plan* plan_ = nullptr;
  const std::unique_ptr<MovedBytes> bytes_;
  std::unique_ptr<Watchdog> watchdog_;
};

/// Spins of an OpenMP thread before it sleeps, about 30 us. The time must exceed the gap
/// between two products of a decoder, where waking up would take as long as the product. It is too
/// short to harm lanes and ranks that want the core.
inline constexpr const char* kBriefSpin = "2000";

/// Starts the program again with an environment in which waiting OpenMP threads soon sleep, because
/// neighbours may share a core. The library reads it before main() begins. Returns if the
/// environment is complete already, or if the program cannot be started again. Keeps values that
/// the user has set. Keeps Open MPI from a warning per message if it may not read its peers'
/// memory, and from starting a launcher for a process without one.
void prepare_environment(char** argv);

/// Raises this process's limit of open files if it is too low for MPI, which would end the process
/// without a message. Throws Error(kIo) naming the limit if that is not allowed.
void require_open_files();

/// True if the kernel lets one process read another's memory, which containers may forbid.
bool may_read_processes();

/// The process as one of the ranks. MPI, and Kokkos from start_threads() on, run during its life.
/// If one rank fails, the session ends all of them.
class Session {
 public:
  /// Starts MPI. `argc` and `argv` as in main().
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Peers& peers() { return *peers_; }
  /// Returns the lookout over this rank, which lives from MPI_Init to MPI_Finalize.
  Lookout& lookout() { return *lookout_; }
  int rank() const { return rank_; }
  int ranks() const { return peers_->ranks(); }
  bool is_first() const { return rank() == 0; }
  int node_ranks() const { return node_ranks_; }   ///< ranks on this host
  bool leads_node() const { return leads_node_; }  ///< lowest rank of this host
  const std::string& host() const { return host_; }

  /// Throws Ended{kUsage} if require_all_tasks() or require_threads() throws on any rank.
  /// Collective.
  void require_whole_launch();
  /// Throws Error(kUsage) if the launcher started more tasks than MPI sees.
  void require_all_tasks() const;
  /// Throws Error(kUsage) if MPI lets no two threads communicate at the same time.
  void require_threads() const;

  /// Returns the devices that the ranks of this node see, and this rank's number on the node.
  /// Collective.
  std::pair<NodeDevices, int> node_devices(bool share);

  /// Sets the threads of every rank and starts Kokkos. The number is `wanted`, else
  /// OMP_NUM_THREADS, else the rank's cores divided by the ranks that share them; the smallest of
  /// all ranks counts. On a build that drives devices each rank takes a device (choose_device) and
  /// cores near it. If there are too few and `share_device` is set, ranks share devices. Throws
  /// Ended: kUsage or kDevice without a device, kUsage for impossible variables, kDoesNotFit if the
  /// system refuses threads. Collective.
  void start_threads(int64_t wanted, bool share_device);
  int threads() const { return threads_; }
  /// True if any two ranks of a node drive one device.
  bool shares_devices() const { return shares_devices_; }
  /// True if any two ranks of a node drive one device or parts of one.
  bool shares_cards() const { return shares_cards_; }
  /// Returns "12 cores near it" for a rank that drives a device. If the launcher allows only
  /// distant cores, the rank uses those.
  const std::string& cores_text() const { return cores_text_; }

  /// Runs `work` on every rank. If it throws on any, the first such rank prints its line and every
  /// rank throws Ended. Collective. REQUIRES: `work` does not communicate.
  void on_every_rank(const std::function<void()>& work);

  /// Runs `work`, in which ranks may communicate. Ends all ranks at once if it throws here. Before
  /// the run has a folder, a rank that has only lost a peer lets a rank speak that knows the cause.
  void end_all_on_error(const std::function<void()>& work);
  /// Prints the failure, unless another rank was first, and ends all ranks with its status. This
  /// rank ends within a second, the others of its node when they see that. Callable from any
  /// thread.
  [[noreturn]] void end_all(const std::exception_ptr& error) noexcept;

  /// Sets the run's folder, which all ranks reach. Later failures write error.json there and their
  /// end into launches.jsonl.
  void record_failures_in(const std::string& folder) { folder_ = folder; }
  /// Sets the step that a failure's line names.
  void set_step(int64_t step) { step_ = step; }

 private:
  void take_device(bool share);
  void stay_near(const std::string& device);
  void count_sharers();
  Failure complete(Failure failure) const;
  /// Returns unless this rank has only lost a peer and another rank, which knows the cause, ends
  /// all.
  void let_cause_speak(const std::exception_ptr& error) const noexcept;
  /// Prints and records the failure. False if another rank was first.
  bool report(const Failure& failure) const;
  [[noreturn]] void leave(Exit exit) const noexcept;

  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Lookout> lookout_;
  std::string host_, folder_, cores_text_;
  int rank_ = 0, node_ranks_ = 1, sharers_ = 1, threads_ = 1;
  std::atomic<int64_t> step_{0};
  bool leads_node_ = true, threaded_ = false, shares_devices_ = false, shares_cards_ = false;
  std::atomic<bool> finalizes_{false};
  std::optional<KernelThreads> kernel_threads_;
};

/// The cores that this process may use.
struct Cores {
  std::vector<int> numbers = {};  ///< the kernel's numbers, ascending; empty: unknown
  int count() const { return std::max(1, int(numbers.size())); }
};
Cores allowed_cores();

/// The launch as the launcher describes it in the environment.
struct Launch {
  int64_t tasks = 0;              ///< 0: no launcher started this process
  int64_t task = 0;               ///< the number of this task
  std::string hint;               ///< remedy if MPI sees fewer tasks
  bool joined = true;             ///< MPI can find the other tasks; else MPI ends the program
  bool turns_interrupts = false;  ///< Ctrl-C reaches the tasks as SIGTERM
  bool one_node = false;          ///< true if a single node holds all tasks
};
Launch launch_of(const std::function<const char*(const char*)>& variable);
/// Returns the launch by this process's environment.
Launch current_launch();

/// Refuses tasks that srun started without a way to each other. Throws Error(kUsage) in the first
/// task and Ended in the others, so one of them prints. REQUIRES: MPI has not started.
void require_joined_launch(const Launch& launch);

/// Makes a watchdog that ends all ranks if nothing finishes for `seconds`, unless the lookout is
/// patient. REQUIRES: `session` outlives it.
std::unique_ptr<Watchdog> make_watchdog(Session& session, double seconds,
                                        std::function<int64_t()> finished,
                                        std::function<std::string()> running);

/// Throws Ended{kRanksDisagree} on all ranks unless all texts that are not empty equal rank 0's.
/// Names the ranks that differ. Collective.
void require_same(Session& session, const std::string& what, const std::string& mine);

/// Throws Ended{kRanksDisagree} on all ranks unless all have the settings of rank 0, given as text
/// of an input file. Names the keys that differ and their values. Collective.
void require_same_settings(Session& session, const std::string& mine);

/// A key with the values that two input files give it.
struct Difference {
  std::string key, one, other;
};

/// Returns the keys, ascending, that both input files have with different values.
std::vector<Difference> differences(const std::string& one, const std::string& other);

/// Returns "run.seed = 1 and 2, zero.stage = 0 and 3": the first five differing keys of two input
/// files. "" if none differ.
std::string differing_settings(const std::string& one, const std::string& other);

}  // namespace zero::launch
