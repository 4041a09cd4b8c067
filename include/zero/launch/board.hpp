#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::launch {

/// How far a rank has come in its run.
enum class Stage { start, input, plan, data, folder, memory, steps, report, end };
/// "its data"
std::string name_of(Stage stage);

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

/// Whose last sign of life is older than half the patience of a watchdog: dead or stopped. Who is
/// merely slow gives signs all the time.
bool is_silent(const Word& word, double patience_seconds);

/// Who is to blame where nothing has finished anywhere for so long: the ranks that say nothing,
/// else those that are at work, else nobody; then a line for each rank. "no word from rank 1
/// for 2.1 s; its last op: ...".
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

  /// This rank is at a stage, begins a step, or an op of a body; the latter from any lane, until
  /// there are no more bodies.
  void enter(Stage stage);
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
  /// Of the other ranks that end all one lives.
  bool who_gave_up_lives() const;

  /// A visible rank that has died: its process ended before it left.
  std::optional<int> dead_rank() const;
  /// This rank ends as it should, in the thread that made the board; whether all others have or
  /// are dead.
  void leave();
  bool others_have_left() const;

  /// Of each visible rank, in rank order. `plan` is of its bodies; null where there are none.
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
