#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "zero/launch/board.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {

class Session;

class MovedBytes;
struct Placement;

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

  /// Prints a text and ends all ranks. The second text is the node at fault, or "". Never returns.
  using EndAll = std::function<void(const std::string&, const std::string&)>;
  /// Starts the thread, which counts the verbs of `peers` as progress. It, or a thread that calls
  /// give_up(), calls `end_all`.
  Lookout(const Peers& peers, EndAll end_all);
  ~Lookout();
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  /// Makes the board of this node, on which its ranks see each other. Earlier, this rank sees
  /// itself alone. Collective.
  void meet();
  /// Returns the board. REQUIRES: meet() was called.
  Board& board() const { return *board_; }
  /// True if all ranks can see each other.
  bool sees_all() const { return board_ && board().shows_all(); }

  /// Sets the run's `folder`, where this rank leaves notes on a later hang if not all ranks can see
  /// each other. `placement`: ranks and nodes of the run.
  void leave_notes_in(const std::string& folder, const Placement& placement);

  /// Sets the milestone that this rank has reached.
  void enter(Milestone milestone);
  Milestone milestone() const { return milestone_; }
  /// Sets the patience of the run's watchdog in seconds. This lookout waits ten times as long.
  void set_patience(double seconds);
  /// Sets the plan of the bodies that run, for the names of ops, or null after the last body.
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
  /// rank in words. The first living rank ends all, the others follow. Never returns.
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
  void join_hang(int64_t moved);
  void look_at_links();
  std::vector<Word> words_for_note() const;
  void let_first_report(std::span<const Word> words, double patience);
  void change_busy(int by);
  std::vector<Word> words() const;
  std::string place() const;
  [[noreturn]] void end(const std::string& what, const std::string& blamed = "") const;

  const int rank_;
  const std::shared_ptr<const Peers::Activity> activity_;
  const EndAll end_all_;
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
  /// Shared with threads that touch the run's folder, which may never return.
  struct NoteSearch;
  std::shared_ptr<NoteSearch> owned_search_;
  std::atomic<NoteSearch*> search_{nullptr};
  int64_t moved_ = 0;  ///< as of moved_at_, of the watching thread alone
  std::atomic<std::chrono::steady_clock::time_point> moved_at_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point looked_at_{};  ///< for notes of others
  bool left_note_ = false;
};

/// Makes a watchdog that ends all ranks if nothing finishes for `seconds`, unless the session's
/// lookout is patient. `finished` and `running` are as in Watchdog::Options. REQUIRES: `session`
/// outlives it.
std::unique_ptr<Watchdog> make_watchdog(Session& session, double seconds,
                                        std::function<int64_t()> finished,
                                        std::function<std::string()> running);

}  // namespace zero::launch
