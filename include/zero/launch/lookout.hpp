#pragma once

#include <atomic>
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

class MovedBytes;

/// A thread over this rank and those of its node, from the return of MPI_Init to that of
/// MPI_Finalize. Ten times a second it gives a sign of life and looks at the others; it ends all
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

  void enter(Stage stage);
  Stage stage() const { return stage_; }
  /// Of the run's own watchdog.
  void set_patience(double seconds);
  /// Of the bodies that ops are of; null where there are none any more.
  void show_plan(const plan::Plan* plan);

  /// As long as it lives this rank is at files, or at arithmetic outside of bodies: what others may
  /// wait for longer, and whose time on a core counts as movement, unless it waits for peers
  /// itself. They nest.
  class Busy {
   public:
    explicit Busy(Lookout& lookout) : lookout_(lookout) { lookout_.change_busy(1); }
    ~Busy() { lookout_.change_busy(-1); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Lookout& lookout_;
  };
  /// A run's own watchdog is to leave what does not move to this one: before the first step, where
  /// this one sees all ranks, and while a rank that lives is busy.
  bool is_patient() const {
    return (stage() < Stage::steps && sees_all()) || (board_ && board().any_is_busy());
  }

  /// Nothing has finished for `patience` seconds; this rank is at `at`. Returns never: the first
  /// rank that lives ends all, the others follow.
  [[noreturn]] void give_up(const std::string& at, double patience);
  /// This rank, which has failed, ends all: the others are to end by themselves.
  void announce_end();
  /// Another rank ends all, and has some time to tell the launcher its status.
  [[noreturn]] void follow_end() const;

  /// Between MPI_Finalize and the end: waits until the other ranks of the node have come so far.
  void leave();

 private:
  int64_t look();
  int64_t worked();
  bool works() const;
  void mourn(int dead);
  void take_the_word(std::span<const Word> words, double patience);
  void change_busy(int by);
  std::vector<Word> words() const;
  std::string place() const;
  [[noreturn]] void end(const std::string& what) const;

  const int rank_;
  const std::shared_ptr<const Peers::Activity> activity_;
  const std::function<void(const std::string&)> end_all_;
  std::unique_ptr<Board> owned_;
  std::atomic<Board*> board_{nullptr};
  std::atomic<Stage> stage_{Stage::start};
  std::atomic<double> timeout_seconds_{kTimesPatience * kPatienceSeconds};
  std::atomic<int> busy_{0};
  double cpu_seconds_ = 0, worked_seconds_ = 0;
  mutable std::mutex plan_mutex_;
  const plan::Plan* plan_ = nullptr;
  const std::unique_ptr<MovedBytes> bytes_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace zero::launch
