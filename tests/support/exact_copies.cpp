#include "tests/support/exact_copies.hpp"

#include <algorithm>
#include <cstring>

#include "zero/base/align.hpp"

namespace zero::run {

ExactCopies::ExactCopies(const plan::PlanOp& op, const std::vector<void*>& operands)
    : op_(op), originals_(operands), copies_(operands.size(), nullptr) {
  make_blocks();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    auto* const place = static_cast<std::byte*>(operands[i]);
    copies_[i] = copy_of(place);
    if (op.operands[i].mode == plan::Mode::write) continue;
    std::memcpy(copies_[i], place, size_t(op.operands[i].bytes));
  }
}

void ExactCopies::make_blocks() {
  std::vector<std::pair<std::byte*, std::byte*>> ranges;
  for (size_t i = 0; i < originals_.size(); ++i) {
    if (originals_[i] == nullptr) continue;
    auto* const begin = static_cast<std::byte*>(originals_[i]);
    ranges.emplace_back(begin, begin + op_.operands[i].bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (const auto& [begin, end] : ranges) {
    if (!blocks_.empty() && begin < blocks_.back().end) {
      blocks_.back().end = std::max(blocks_.back().end, end);
    } else {
      blocks_.push_back({begin, end, nullptr});
    }
  }
  for (Block& block : blocks_) {
    // aligned_alloc wants a multiple of the alignment, which would hide an overrun.
    void* memory = nullptr;
    const size_t bytes = size_t(block.end - block.begin);
    ZERO_REQUIRE(posix_memalign(&memory, size_t(kExtentAlignBytes), bytes) == 0,
                 "no memory for a copy of ", bytes, " bytes");
    std::memset(memory, 0xFF, bytes);
    block.copy.reset(static_cast<std::byte*>(memory));
  }
}

std::byte* ExactCopies::copy_of(std::byte* place) const {
  // Empty blocks may begin where another one does, so the last candidate is the one that holds it.
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), place,
                                      [](std::byte* p, const Block& b) { return p < b.begin; });
  ZERO_REQUIRE(after != blocks_.begin(), "an operand outside every copy");
  const Block& block = *(after - 1);
  return block.copy.get() + (place - block.begin);
}

void ExactCopies::store() const {
  for (size_t i = 0; i < originals_.size(); ++i) {
    if (originals_[i] == nullptr || op_.operands[i].mode == plan::Mode::read) continue;
    std::memcpy(originals_[i], copies_[i], size_t(op_.operands[i].bytes));
  }
}

}  // namespace zero::run
