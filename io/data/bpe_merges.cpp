#include "io/data/bpe_merges.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr uint32_t kNoPlace = UINT32_MAX;

uint64_t pair_of(int32_t left, int32_t right) { return uint64_t(left) << 32 | uint32_t(right); }

}  // namespace

MergeTable::MergeTable(size_t merges) : slots_(std::bit_ceil(2 * merges + 2)) {
  shift_ = 64 - std::countr_zero(slots_.size());
}

/// Where the pair stands, or the free slot where it would.
size_t MergeTable::slot_of(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  size_t at = size_t(pair * 0x9E3779B97F4A7C15u >> shift_);
  while (slots_[at].rank != kNone && slots_[at].pair != pair) at = (at + 1) & mask;
  return at;
}

bool MergeTable::add(int32_t left, int32_t right, uint32_t rank) {
  const uint64_t pair = pair_of(left, right);
  Slot& slot = slots_[slot_of(pair)];
  if (slot.rank != kNone) return false;
  slot = {.pair = pair, .rank = rank};
  return true;
}

uint32_t MergeTable::rank(int32_t left, int32_t right) const {
  return slots_[slot_of(pair_of(left, right))].rank;
}

/// Looks up the pair that begins at `place` and queues it if it can be merged.
void WordMerger::offer(uint32_t place) {
  Symbol& symbol = symbols_[place];
  symbol.rank = symbol.next == kNoPlace ? MergeTable::kNone
                                        : table_->rank(symbol.id, symbols_[symbol.next].id);
  if (symbol.rank == MergeTable::kNone) return;
  heap_.push_back(uint64_t(symbol.rank) << 32 | place);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

/// Joins the symbol at `place` with the next one, whose own pair no longer exists.
void WordMerger::join(uint32_t place) {
  Symbol& symbol = symbols_[place];
  Symbol& gone = symbols_[symbol.next];
  symbol.id = merges_[symbol.rank].result;
  symbol.next = gone.next;
  gone.rank = MergeTable::kNone;
  if (symbol.next != kNoPlace) symbols_[symbol.next].previous = place;
  offer(place);
  if (symbol.previous != kNoPlace) offer(symbol.previous);
}

void WordMerger::merge(std::span<const int32_t> symbols, std::vector<int32_t>& out) {
  if (symbols.size() >= kNoPlace) {
    refuse(Exit::kInput, "a word of ", symbols.size(),
           " bytes is too long to merge; put a blank or the end of a line into the text");
  }
  const auto count = uint32_t(symbols.size());
  symbols_.resize(count);
  heap_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    symbols_[i] = {.id = symbols[i],
                   .previous = i == 0 ? kNoPlace : i - 1,
                   .next = i + 1 == count ? kNoPlace : i + 1};
  }
  for (uint32_t i = 0; i < count; ++i) offer(i);
  while (!heap_.empty()) {
    const auto rank = uint32_t(heap_.front() >> 32), place = uint32_t(heap_.front());
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    if (symbols_[place].rank == rank) join(place);
  }
  for (uint32_t at = count > 0 ? 0 : kNoPlace; at != kNoPlace; at = symbols_[at].next)
    out.push_back(symbols_[at].id);
}

}  // namespace zero
