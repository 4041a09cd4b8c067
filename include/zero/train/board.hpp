#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::train {

/// What one rank has said of itself, as another one reads it.
struct Word {
  int rank = 0;
  double silent_seconds = 0;  ///< since its last sign of life
  bool works = false;         ///< in an op that needs no other rank
  int64_t step = 0;
  std::string last_op;  ///< that it began
};

/// Whose last sign of life is older than half the patience of a watchdog: dead or stopped. Who is
/// merely slow gives signs all the time.
bool is_silent(const Word& word, double patience_seconds);

/// Who is to blame where nothing has finished anywhere for so long: the ranks that say nothing,
/// else those that are at work, else nobody; then a line for each rank. "no word from rank 1
/// for 2.1 s; its last op: ...".
std::string describe_hang(std::span<const Word> words, double patience_seconds);

/// Where each rank writes what it does, for the others to read although it is stopped: a cache line
/// a rank in memory of the node, relaxed stores. Ranks of other nodes are not seen.
class Board {
 public:
  /// Collective over all ranks.
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  int rank() const;
  bool shows_all() const;  ///< every rank can be seen

  /// This rank begins a step, or an op of a body; the latter from any lane.
  void begin_step(int64_t step);
  void begin_op(plan::BodyId body, int64_t op);
  /// A sign of life, to be given more often than any watchdog's patience halved.
  void live(bool works, int64_t finished_ops);
  /// Ops that all visible ranks have finished, as of their last signs of life.
  int64_t finished_ops() const;

  /// This rank ends all of them; whether another one does.
  void give_up();
  bool another_gave_up() const;

  /// Of each visible rank, in rank order.
  std::vector<Word> words(const plan::Plan& plan) const;

 private:
  struct Line;
  struct Lines;
  Line& mine() const;
  std::unique_ptr<Lines> lines_;
};

}  // namespace zero::train
