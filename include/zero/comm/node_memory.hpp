#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zero::comm {

/// A piece of memory of each rank, zeros at first, that all ranks of its node read whatever state
/// its owner is in. Ranks of other nodes are not seen, and where those of a node cannot open each
/// other's memory a rank sees its own piece only.
class NodeMemory {
 public:
  /// `bytes` a rank. Collective over all ranks.
  explicit NodeMemory(int64_t bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return int(pieces_.size()); }
  /// Null where it cannot be seen.
  std::byte* of(int rank) const { return pieces_[size_t(rank)]; }

 private:
  int64_t bytes_;
  int rank_;
  std::vector<std::byte*> pieces_;
};

}  // namespace zero::comm
