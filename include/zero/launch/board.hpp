#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::launch {

/// The latest milestone of a rank in its run.
enum class Milestone { start, input, plan, data, folder, memory, steps, report, end };
/// Returns a milestone in words, as "its data".
std::string name_of(Milestone milestone);

/// The report of one rank on itself, as another rank reads it.
struct Word {
  int rank = 0;
  int64_t process = 0;
  double silent_seconds = 0;  ///< seconds since the last sign of life
  bool works = false;         ///< true in an op that needs no other rank
  bool died = false;
  int64_t step = 0;
  std::string last_op;                       ///< last op that it began, or its milestone if none
  std::string host = {};                     ///< "" if all ranks share one node
  std::optional<double> moved_seconds = {};  ///< seconds since its node moved, of another node
};

/// A link from one node to another on which nothing is answered.
struct LostLink {
  std::string from, to;   ///< nodes
  std::string address;    ///< of `to`
  std::string interface;  ///< of `from`; "" if unknown

  bool operator==(const LostLink&) const = default;
};

/// Nodes and links of which nothing is heard in a hang.
struct Silence {
  std::vector<std::string> nodes = {};  ///< without a word
  std::vector<LostLink> links = {};
};

/// True if the rank of `word` has died or gave no sign of life for half of the watchdog's patience.
/// A slow rank keeps giving signs.
bool is_silent(const Word& word, double patience_seconds);

/// Returns a text about a hang, from the words of all known ranks and what nodes cannot tell of
/// themselves. It begins with the ranks to blame: "no word from rank 1 for 2.1 s; its last op:
/// ...". Blames ranks without signs of life, else ranks in an op that needs no peer, else lost
/// links and, as unsure, nodes without a word, else none. `patience_seconds` is as in is_silent().
/// Adds a line per rank and per node without a word.
std::string describe_hang(std::span<const Word> words, double patience_seconds,
                          const Silence& silence = {});
/// Returns the name of the node that describe_hang() blames first for the same arguments; "" if
/// none. Blames a node for lost links if two others have lost theirs to it.
std::string blamed_node(std::span<const Word> words, double patience_seconds,
                        const Silence& silence);

/// A board on which each rank writes its progress, for others to read even if the rank is stopped
/// or dead. Each rank has a few cache lines in memory of the node, with relaxed stores. Ranks of
/// other nodes are not seen.
class Board {
 public:
  /// Makes the board of the node's ranks. Collective over all ranks.
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Returns the number of this rank in the run.
  int rank() const;
  bool shows_all() const;  ///< true if every rank can be seen

  /// Records that this rank has reached a milestone, has begun a step, or has begun an op of a
  /// body. `running` is the number of the op by run::running_turn(). Any lane may begin an op.
  /// forget_op() follows the last body.
  void enter(Milestone milestone);
  void begin_step(int64_t step);
  void begin_op(plan::BodyId body, int64_t running);
  void forget_op();
  /// Gives a sign of life of this rank. `works`: it is in an op that needs no other rank.
  /// `finished_ops`: ops that it has finished so far. REQUIRES: called more often than half of any
  /// watchdog's patience.
  void live(bool works, int64_t finished_ops);
  /// Returns the number of ops that all visible ranks together have finished, as of their last
  /// signs of life.
  int64_t finished_ops() const;
  /// Gives a sign of life of this rank, which may be in no body. `moved` counts all its progress so
  /// far but ops.
  void beat(int64_t moved);
  /// Returns the sum of finished ops and of other progress over all visible ranks, to see if
  /// anything moves.
  int64_t moved() const;
  /// Records if this rank is busy: if it reads files or computes outside bodies. Others may wait
  /// longer for that than for an op. any_is_busy() is true if a rank with a fresh sign of life does
  /// so.
  void set_busy(bool busy);
  bool any_is_busy() const;

  /// Announces that this rank ends all ranks. another_gave_up(): true if any other rank has
  /// announced it.
  void give_up();
  bool another_gave_up() const;
  /// True if a rank of the node with a lower number has announced the end.
  bool lower_gave_up() const;
  /// True if another rank that announced the end is still alive.
  bool who_gave_up_lives() const;

  /// Returns the lowest visible rank that gives signs of life (is_silent); this one if none does.
  /// Allocates nothing.
  int first_living(double patience_seconds) const;
  /// Returns the number of a visible rank that has died: its process ended without leave(). None if
  /// none has.
  std::optional<int> dead_rank() const;
  /// Records that this rank ends as it should, in the thread that made the board.
  /// others_have_left(): true if all others have left or are dead.
  void leave();
  bool others_have_left() const;

  /// Returns the word of each visible rank, in rank order. `plan` is the plan of the bodies, for
  /// the names of ops, or null if there are none.
  std::vector<Word> words(const plan::Plan* plan) const;

 private:
  struct Line;
  struct Lines;
  Line& mine() const;
  /// True if is(line) holds for another visible rank.
  template <class Is>
  bool any_other(const Is& is) const;
  std::unique_ptr<Lines> lines_;
};

}  // namespace zero::launch
