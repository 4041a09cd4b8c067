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

/// When the kernel started this process, to a hundredth of a second; starting the program again in
/// the same process does not change it. Where the kernel does not say: now.
/// Source: Linux /proc/self/stat, field 22 (starttime).
std::chrono::steady_clock::time_point process_start();

/// The threads, or the device, that kernels run on (Kokkos), for as long as it lives. One at a time
/// in a process. A device that nobody has named is the first; throws Error(kUsage) without any, and
/// for variables of the environment that Kokkos would end the program for.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
};

class MovedBytes;

/// A thread over this rank and those of its node, from the return of MPI_Init to that of
/// MPI_Finalize. Ten times a second it gives a sign of life and looks at the others. It ends all
/// ranks where one has died, or where no byte, no verb of `Peers`, no op and no arithmetic has
/// moved on any of them for ten times the patience of a run's own watchdog. One rank, the first of
/// the node that lives, says so for all; the others then end by themselves, as a launcher takes its
/// time.
class Lookout {
 public:
  /// The patience of a run that has not said another one.
  static constexpr double kPatienceSeconds = 30;
  static constexpr double kTimesPatience = 10;

  /// `end_all` prints what it is given and ends all ranks; it does not return.
  Lookout(const Peers& peers, std::function<void(const std::string&)> end_all);
  ~Lookout();
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  /// Makes the board; until then this rank sees itself alone. Collective.
  void meet();
  Board& board() const { return *board_; }
  /// This rank and all others can see each other.
  bool sees_all() const { return board_ && board().shows_all(); }

  void enter(Milestone milestone);
  Milestone milestone() const { return milestone_; }
  /// How long the run's own watchdog waits.
  void set_patience(double seconds);
  /// The plan of the bodies that run; null where there are none any more.
  void show_plan(const plan::Plan* plan);

  /// While it lives, this rank reads files or computes outside bodies. Others may wait longer for
  /// it, and its core time counts as progress, unless it waits for peers itself. These objects
  /// nest.
  class Busy {
   public:
    explicit Busy(Lookout& lookout) : lookout_(lookout) { lookout_.change_busy(1); }
    ~Busy() { lookout_.change_busy(-1); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Lookout& lookout_;
  };
  /// Whether the run's watchdog should leave a stall to this one: before the first step if all
  /// ranks are visible, and while a living rank is busy.
  bool is_patient() const {
    return (milestone() < Milestone::steps && sees_all()) || (board_ && board().any_is_busy());
  }

  /// Nothing has finished for `patience` seconds; this rank is at `at`. Returns never: the first
  /// rank that lives ends all, the others follow.
  [[noreturn]] void give_up(const std::string& at, double patience);
  /// This rank, which has failed, ends all: the others are to end by themselves.
  void announce_end();
  /// True if a lower rank of the node has announced it too. Waits for a moment before it looks.
  bool lower_rank_ends() const;
  /// True if any other rank of the node has. Waits likewise.
  bool another_ends() const;
  /// Another rank ends all, and has some time to tell the launcher its status.
  [[noreturn]] void follow_end() const;

  /// Between MPI_Finalize and the end: waits until the other ranks of the node have come so far.
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

/// How often an OpenMP thread looks for work before it sleeps: some 30 us. That is longer than
/// between two products of a decoder, where waking it would take as long as the product. It is too
/// short for lanes and ranks that want its core to miss it.
inline constexpr const char* kBriefSpin = "2000";

/// Starts the program again with an environment in which OpenMP threads soon sleep while they wait,
/// as neighbours on a shared core need; the library reads it before main() begins. Returns if the
/// environment says so already, or if the program cannot be started again. A value that the user
/// has set stays. Open MPI is told where it may not read its peers' memory, so that it does not say
/// so for every message, and that a process without a launcher starts none.
void prepare_environment(char** argv);

/// Raises this process's limit of open files where it is too low for MPI, which would end it
/// without a word of ours; throws Error(kIo) naming the limit where that may not be.
void require_open_files();

/// Whether the kernel lets one process read another's memory, which containers may forbid.
bool may_read_processes();

/// This process among the ranks, with MPI and (from start_threads on) Kokkos running as long as it
/// lives; and the one way in which a failing rank ends all of them.
class Session {
 public:
  /// Starts MPI. `argv` as in main().
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Peers& peers() { return *peers_; }
  /// Over this rank from the return of MPI_Init to that of MPI_Finalize.
  Lookout& lookout() { return *lookout_; }
  int rank() const { return rank_; }
  int ranks() const { return peers_->ranks(); }
  bool is_first() const { return rank() == 0; }
  int node_ranks() const { return node_ranks_; }   ///< ranks on this host
  bool leads_node() const { return leads_node_; }  ///< the lowest of them
  const std::string& host() const { return host_; }

  /// Throws Ended, kUsage, if one of the next two refuses on any rank. Collective.
  void require_whole_launch();
  /// Throws Error(kUsage) if the launcher started more tasks than MPI sees.
  void require_all_tasks() const;
  /// Throws Error(kUsage) if MPI lets no two threads communicate at the same time.
  void require_threads() const;

  /// What the ranks of this node see of its devices, and the place of this one among them.
  /// Collective.
  std::pair<NodeDevices, int> node_devices(bool share);

  /// Threads of every rank: `wanted`, else OMP_NUM_THREADS, else the cores that the rank may use
  /// divided by the ranks that may use the same ones; the fewest of all ranks. Starts Kokkos. On a
  /// build that drives devices each rank takes its own (choose_device), or where there are too few
  /// and `share_device` a part of one, and cores near it. Throws Ended, kUsage, otherwise, and for
  /// variables that ask for what cannot be; kDoesNotFit where the system refuses threads.
  /// Collective.
  void start_threads(int64_t wanted, bool share_device);
  int threads() const { return threads_; }
  /// Whether any two ranks of a node drive the same device.
  bool shares_devices() const { return shares_devices_; }
  /// True if any two ranks of a node drive the same device or parts of one.
  bool shares_cards() const { return shares_cards_; }
  /// Text such as "12 cores near it" for a rank that drives a device. If the launcher allows only
  /// distant cores, they are used.
  const std::string& cores_text() const { return cores_text_; }

  /// Runs `work`, which must not communicate, on every rank. If it throws on any, the first such
  /// rank prints its line and every rank throws Ended. Collective.
  void on_every_rank(const std::function<void()>& work);

  /// For work in which ranks communicate: an exception on this rank ends all ranks at once. Before
  /// there is a run's folder a rank that has only lost a peer lets one speak that knows why.
  void end_all_on_error(const std::function<void()>& work);
  /// Prints the failure, unless another rank was first, and ends all ranks with its status: this
  /// one at the latest a second after it was printed, those of its node when they see that.
  /// Callable from any thread.
  [[noreturn]] void end_all(const std::exception_ptr& error) noexcept;

  /// From now on failures leave an error.json and their word in launches.jsonl in `folder`, which
  /// all ranks reach.
  void record_failures_in(const std::string& folder) { folder_ = folder; }
  /// The step that a failure's line names.
  void set_step(int64_t step) { step_ = step; }

 private:
  void take_device(bool share);
  void stay_near(const std::string& device);
  void count_sharers();
  Failure complete(Failure failure) const;
  /// Returns unless this rank has only lost a peer and another one, which knows why, ends all.
  void let_cause_speak(const std::exception_ptr& error) const noexcept;
  /// False where another rank was first.
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
  std::vector<int> numbers = {};  ///< the kernel's, ascending; empty: it does not say
  int count() const { return std::max(1, int(numbers.size())); }
};
Cores allowed_cores();

/// What the launcher says in the environment about the tasks it started.
struct Launch {
  int64_t tasks = 0;   ///< 0: this process was not started by one
  int64_t task = 0;    ///< which of them this is
  std::string hint;    ///< what to do where MPI sees fewer
  bool joined = true;  ///< MPI can find the other tasks: else it ends the program by itself
  bool turns_interrupts = false;  ///< Ctrl-C reaches them as SIGTERM
  bool one_node = false;          ///< known to hold all tasks
};
Launch launch_of(const std::function<const char*(const char*)>& variable);
/// The launch by this process's environment.
Launch current_launch();

/// To be asked before MPI starts: refuses tasks that srun started without a way to each other, once
/// for all of them. Throws Error(kUsage) in the first, Ended in the others.
void require_joined_launch(const Launch& launch);

/// A watchdog over something that ranks wait for each other in: where nothing has finished for so
/// long, it ends all of them, unless the lookout is patient. `session` outlives it.
std::unique_ptr<Watchdog> make_watchdog(Session& session, double seconds,
                                        std::function<int64_t()> finished,
                                        std::function<std::string()> running);

/// Ends all ranks, kRanksDisagree, unless all that have a text have the same as rank 0, naming
/// those that differ. Collective.
void require_same(Session& session, const std::string& what, const std::string& mine);

/// Does so for the settings of a run, as the text of an input file; names the keys that differ and
/// their values. Collective.
void require_same_settings(Session& session, const std::string& mine);

/// A key with the values that two input files give it.
struct Difference {
  std::string key, one, other;
};

/// The keys, ascending, whose values differ between two input files that both have them.
std::vector<Difference> differences(const std::string& one, const std::string& other);

/// "run.seed = 1 and 2, zero.stage = 0 and 3": the keys whose values differ between two input
/// files, the first five of them; "" if there are none.
std::string differing_settings(const std::string& one, const std::string& other);

}  // namespace zero::launch
