#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zero/device/device.hpp"
#include "zero/launch/failure.hpp"
#include "zero/launch/kernel_threads.hpp"
#include "zero/launch/lookout.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/rank_places.hpp"

namespace zero::launch {

/// The process as one of the ranks. MPI, and Kokkos from start_threads() on, run during its life.
/// If one rank fails, the session ends all of them.
class Session {
 public:
  /// Starts MPI and the lookout. `argc` and `argv` are those of main(); MPI may change them.
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
  int node_ranks() const { return node_ranks_; }  ///< ranks on this host
  /// Returns the ranks of every host if each has equally many neighbours, else -1.
  int even_node_ranks() const { return even_node_ranks_; }
  bool leads_node() const { return leads_node_; }  ///< lowest rank of this host
  /// Returns the name of this rank's host.
  const std::string& host() const { return host_; }

  /// Throws Ended{kUsage} if require_all_tasks() or require_threads() throws on any rank.
  /// Collective.
  void require_whole_launch();
  /// Throws Error(kUsage) if the launcher started more tasks than MPI sees.
  void require_all_tasks() const;
  /// Throws Error(kUsage) if MPI lets no two threads communicate at the same time.
  void require_threads() const;

  /// Returns the devices that each rank of this node sees, and the number of this rank among them,
  /// from 0. `share`, which the first result repeats: true if ranks may drive one device together.
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
  /// Returns the cores of this rank in words, "12 cores near it", if it drives a device. If the
  /// launcher allows only distant cores, the rank uses those.
  const std::string& cores_text() const { return cores_text_; }
  /// Returns the place of every rank, with its device from start_threads() on. Collective.
  std::vector<RankPlace> places();

  /// Runs `work` on every rank. If it throws on any, the first such rank prints its line and every
  /// rank throws Ended. Collective. REQUIRES: `work` does not communicate.
  void on_every_rank(const std::function<void()>& work);

  /// Runs `work` on this rank, in which ranks may communicate. Ends all ranks at once if it throws
  /// here. Before the run has a folder, a rank that has only lost a peer lets a rank speak that
  /// knows the cause.
  void end_all_on_error(const std::function<void()>& work);
  /// Prints the failure of a caught exception, unless another rank was first, and ends all ranks
  /// with its exit status. This rank ends within a second, the others of its node when they see
  /// that. Callable from any thread.
  [[noreturn]] void end_all(const std::exception_ptr& error) noexcept;

  /// Sets the run's folder, which all ranks reach. Later failures write error.json there and their
  /// end into launches.jsonl; over several nodes a hang leaves notes in hangs/. Collective.
  void record_failures_in(const std::string& folder);
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
  /// Prints and records a failure. False if another rank was first.
  bool report(const Failure& failure) const;
  [[noreturn]] void leave(Exit exit) const noexcept;

  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Lookout> lookout_;
  std::string host_, folder_, device_, cores_text_;
  Numbers given_cores_;  ///< by the launcher
  int rank_ = 0, node_ranks_ = 1, even_node_ranks_ = 1, sharers_ = 1, threads_ = 1;
  std::atomic<int64_t> step_{0};
  bool leads_node_ = true, threaded_ = false, shares_devices_ = false, shares_cards_ = false;
  std::atomic<bool> finalizes_{false};
  std::optional<KernelThreads> kernel_threads_;
};

/// Compares the texts `mine` of all ranks, named `what` for people. Throws Ended{kRanksDisagree} on
/// all unless those that are not empty equal rank 0's. Names the ranks that differ. Collective.
void require_same(Session& session, const std::string& what, const std::string& mine);

/// Compares the settings `mine` of all ranks, each the text of an input file. Throws
/// Ended{kRanksDisagree} on all unless they equal those of rank 0. Names the keys that differ and
/// their values. Collective.
void require_same_settings(Session& session, const std::string& mine);

}  // namespace zero::launch
