#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::run {

/// Heap copies of one op's operands, each block exactly as long as the plan says, so that an
/// address sanitizer sees any access that the op did not declare. Operands that overlap in the
/// arena (a shard in its place inside the whole) share one block. What the op only writes starts as
/// 0xFF, so reading it shows as well.
class ExactCopies {
 public:
  /// `operands` are the addresses in the arena, null where absent.
  ExactCopies(const plan::PlanOp& op, const std::vector<void*>& operands);

  /// The operands' addresses in the copies.
  const std::vector<void*>& operands() const { return copies_; }
  /// Copies written and updated operands back to the arena.
  void store() const;

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  struct Block {
    std::byte* begin;  ///< in the arena
    std::byte* end;
    std::unique_ptr<std::byte, Free> copy;
  };

  void make_blocks();
  std::byte* copy_of(std::byte* place) const;

  const plan::PlanOp& op_;
  std::vector<void*> originals_;
  std::vector<void*> copies_;
  std::vector<Block> blocks_;
};

}  // namespace zero::run
