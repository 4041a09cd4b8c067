#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::launch {

/// A thread that gives a run up when nothing has finished on any lane for too long. What counts is
/// time in which this process ran: one that was stopped and goes on has not waited meanwhile.
class Watchdog {
 public:
  struct Options {
    double timeout_seconds = 30;
    std::function<int64_t()> finished;     ///< ops of all lanes so far
    std::function<std::string()> running;  ///< what the lanes are at
    std::function<void(const std::string&)>
        on_hang;                      ///< gets what was running; on its thread, once
    std::function<bool()> excused{};  ///< whether what is waited for may take longer; none: never
  };
  explicit Watchdog(Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  double timeout_seconds() const { return timeout_seconds_; }
  void set_timeout(double seconds) { timeout_seconds_ = seconds; }

  /// Only an armed watchdog counts time, from the arming on: between waits nothing is expected.
  /// `place`, text that stays, is said to hang instead of what `running` tells.
  void arm(const char* place = nullptr);
  void disarm() { armed_ = false; }

  /// Armed as long as it lives; without a watchdog nothing is. They do not nest.
  class Armed {
   public:
    explicit Armed(Watchdog* watchdog, const char* place = nullptr);
    ~Armed();
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;

   private:
    Watchdog* watchdog_;
  };

 private:
  void watch();
  std::string place() const;

  Options options_;
  std::atomic<double> timeout_seconds_;
  std::atomic<bool> armed_{false};
  std::atomic<const char*> place_{nullptr};
  std::atomic<int64_t> armings_{0};
  std::mutex mutex_;
  std::condition_variable closing_changed_;
  bool closing_ = false;
  std::thread thread_;
};

/// "adam of unit h.3", "linear of unit h.2, micro-batch 0", for people.
std::string describe_op(const plan::Plan& plan, const plan::Body& body, const plan::Turn& turn);

/// Ops finished on all lanes since the start.
int64_t finished_ops(std::span<const run::LaneProgress> progress);

/// What each busy lane is at: "lane gather: all_gather of unit h.3 (op 17 of step, 1203 finished)".
std::string describe_progress(const plan::Plan& plan, plan::BodyId body,
                              std::span<const run::LaneProgress> progress);

/// How far a rank has come in its run.
enum class Milestone { start, input, plan, data, folder, memory, steps, report, end };
/// "its data"
std::string name_of(Milestone milestone);

/// What one rank has said of itself, as another one reads it.
struct Word {
  int rank = 0;
  int64_t process = 0;
  double silent_seconds = 0;  ///< since its last sign of life
  bool works = false;         ///< in an op that needs no other rank
  bool died = false;
  int64_t step = 0;
  std::string last_op;  ///< that it began, or where it is without one
};

/// Whether a rank gave no sign of life for half of the watchdog's patience, so that it is dead or
/// stopped. A slow rank keeps giving signs.
bool is_silent(const Word& word, double patience_seconds);

/// Names the ranks to blame for a hang: those without signs of life, else those in an op that needs
/// no peer, else none. One line per rank follows: "no word from rank 1 for 2.1 s; its last op:
/// ...".
std::string describe_hang(std::span<const Word> words, double patience_seconds);

/// Where each rank writes what it does, for the others to read although it is stopped or dead: a
/// few cache lines a rank in memory of the node, relaxed stores. Ranks of other nodes are not seen.
class Board {
 public:
  /// Collective over all ranks.
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  int rank() const;
  bool shows_all() const;  ///< every rank can be seen

  /// Records that this rank has reached a milestone, has begun a step, or has begun an op of a
  /// body. Any lane may begin an op, until there are no more bodies.
  void enter(Milestone milestone);
  void begin_step(int64_t step);
  void begin_op(plan::BodyId body, int64_t running);
  void forget_op();
  /// A sign of life, to be given more often than any watchdog's patience halved.
  void live(bool works, int64_t finished_ops);
  /// Ops that all visible ranks have finished, as of their last signs of life.
  int64_t finished_ops() const;
  /// A sign of life of a rank that may be in no body, with a count of all else that moves there.
  void beat(int64_t moved);
  /// Ops and all else of all visible ranks.
  int64_t moved() const;
  /// This rank is at something that others may wait for longer than for an op: files, or arithmetic
  /// outside of bodies; whether a rank is that has just given a sign of life.
  void set_busy(bool busy);
  bool any_is_busy() const;

  /// This rank ends all of them; whether another one does.
  void give_up();
  bool another_gave_up() const;
  /// True if a lower rank of the node does.
  bool lower_gave_up() const;
  /// Whether another rank that announced the end is still alive.
  bool who_gave_up_lives() const;

  /// A visible rank that has died: its process ended before it left.
  std::optional<int> dead_rank() const;
  /// This rank ends as it should, in the thread that made the board; whether all others have or
  /// are dead.
  void leave();
  bool others_have_left() const;

  /// The word of each visible rank, in rank order. `plan` is of its bodies; null where there are
  /// none.
  std::vector<Word> words(const plan::Plan* plan) const;

 private:
  struct Line;
  struct Lines;
  Line& mine() const;
  /// Whether what `is` asks of its line is true of another rank that can be seen.
  template <class Is>
  bool any_other(const Is& is) const;
  std::unique_ptr<Lines> lines_;
};

}  // namespace zero::launch
