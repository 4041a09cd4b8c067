#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace zero::comm {

/// Throws Error(kInternal) naming the action `what`, with MPI's error text, unless `status` is
/// MPI_SUCCESS.
void check_mpi(int status, std::string_view what);

/// Prints a warning on stderr that names the action `what`, unless `status` is MPI_SUCCESS. For
/// places that cannot throw.
void warn_mpi(int status, std::string_view what) noexcept;

/// A duplicate of MPI_COMM_WORLD, or of a part of it, that returns its errors instead of ending the
/// program. All members but rank(), ranks() and handle() are collective. Construction is collective
/// over MPI_COMM_WORLD.
class World {
 public:
  /// Joins all ranks that give the same `part`.
  explicit World(int part = 0);
  /// Joins the ranks of this rank's node, in their order.
  struct OfNode {};
  explicit World(OfNode);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Returns the communicator as MPI_Comm_c2f gives it, so no header needs MPI's.
  int handle() const { return handle_; }

  /// True if all ranks are on one node.
  bool shares_a_node() const;
  /// The nodes of the ranks.
  struct Places {
    std::vector<int> first;  ///< the lowest rank on the node of each rank
    int nodes = 1;
    int most = 1;  ///< ranks of the fullest node
    int away = 0;  ///< ranks on other nodes than this one

    /// Returns the ranks of the fullest node, or 0 if there is one node, as Border::node_ranks.
    int node_ranks() const { return nodes > 1 ? most : 0; }
    /// True if the ranks `mine` and `peer` are on different nodes.
    bool is_away(int mine, int peer) const { return first[size_t(peer)] != first[size_t(mine)]; }
  };
  /// Returns the nodes of this world's ranks. Collective.
  Places places() const;
  /// True if `mine` is true on every rank.
  bool all(bool mine) const;
  /// Throws Error(kRanksDisagree) on every rank if `mine` differs between ranks. Its text names the
  /// value as `what`.
  void require_same(int64_t mine, std::string_view what) const;
  /// Returns `mine` of every rank, in rank order.
  template <class T>
  std::vector<T> gather(const T& mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> out(size_t(ranks_), mine);
    gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(out)));
    return out;
  }

 private:
  void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) const;
  void ask_place();

  int handle_ = 0;
  int rank_ = 0;
  int ranks_ = 1;
};

/// Memory of each rank, zeros at first, that all ranks of its node can read, even if its owner is
/// stopped. Ranks of other nodes cannot read it. If ranks of a node cannot open each other's
/// memory, a rank sees only its own.
class NodeMemory {
 public:
  /// Takes `bytes` per rank. Collective over all ranks.
  explicit NodeMemory(int64_t bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return int(pieces_.size()); }
  /// Returns the memory of the rank `rank` of all ranks, or null if this rank cannot see it.
  std::byte* of(int rank) const { return pieces_[size_t(rank)]; }

 private:
  int64_t bytes_;
  int rank_;
  std::vector<std::byte*> pieces_;
};

}  // namespace zero::comm
