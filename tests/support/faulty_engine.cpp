#include "tests/support/faulty_engine.hpp"

#include <algorithm>
#include <cerrno>

#include "zero/base/align.hpp"
#include "zero/base/philox.hpp"

namespace zero::testing {
namespace {

using aio::Block, aio::Completion, aio::Direction;

constexpr int64_t kPage = 4096;

/// The first place that a direct write may come from.
std::byte* aligned(std::vector<std::byte>& memory) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory.data());
  return reinterpret_cast<std::byte*>(round_up(address, uintptr_t(kPage)));
}

/// What the disk really does for a block with this fault; 0 bytes: nothing.
Block really_moved(const Block& block, Fault fault) {
  Block moved = block;
  if (fault == Fault::torn) moved.bytes = block.bytes / 2;
  if (fault == Fault::shortened && block.bytes > kPage) {
    moved.bytes = round_up(block.bytes / 2, kPage);
  }
  if (fault == Fault::misdirected) moved.offset += block.bytes;
  const bool none = fault == Fault::nothing || fault == Fault::interrupted || fault == Fault::eio ||
                    fault == Fault::enospc || fault == Fault::stale;
  if (none) moved.bytes = 0;
  return moved;
}

/// What it says of a block of which it moved `moved` bytes.
int64_t answer(const Block& block, Fault fault, int64_t moved) {
  if (moved < 0) return moved;
  switch (fault) {
    case Fault::interrupted:
      return -EINTR;
    case Fault::eio:
      return -EIO;
    case Fault::enospc:
      return -ENOSPC;
    case Fault::stale:
    case Fault::torn:
      return block.bytes;
    default:
      return moved;
  }
}

}  // namespace

FaultyEngine::FaultyEngine(std::unique_ptr<aio::Engine> inner, uint64_t seed,
                           const Chances& chances)
    : inner_(std::move(inner)), seed_(seed), chances_(chances) {}

FaultyEngine::FaultyEngine(std::unique_ptr<aio::Engine> inner, const Strike& strike)
    : inner_(std::move(inner)), strike_(strike) {}

Fault FaultyEngine::draw() {
  const uint32_t block = drawn_++;
  const bool struck = strike_.lasting ? block >= strike_.block : block == strike_.block;
  if (strike_.fault != Fault::none) return struck ? strike_.fault : Fault::none;
  const PhiloxBlock bits = philox({{block, 0, 0, 0}}, seed_);
  double left = double(bits.word[0]) / 4294967296.0;
  for (int fault = 1; fault < kFaults; ++fault) {
    left -= chances_[size_t(fault)];
    if (left < 0) return Fault(fault);
  }
  return Fault::none;
}

void FaultyEngine::start(const Block& block, uint64_t tag) {
  Pending pending{.block = block, .fault = draw()};
  ++counts_[size_t(pending.fault)];
  if (pending.fault == Fault::late) pending.reaps_left = 3;
  Block moved = really_moved(block, pending.fault);
  if (pending.fault == Fault::flipped && block.direction == Direction::write) {
    pending.copy.resize(size_t(block.bytes + kPage));
    std::byte* const copy = aligned(pending.copy);
    std::copy(block.memory, block.memory + block.bytes, copy);
    *copy ^= std::byte{4};
  }
  if (moved.bytes == 0) finish(pending, 0);
  pending_.emplace_back(tag, std::move(pending));
  Pending& kept = pending_.back().second;
  if (!kept.copy.empty()) moved.memory = aligned(kept.copy);
  if (!kept.completed) inner_->start(moved, tag);
}

void FaultyEngine::finish(Pending& pending, int64_t moved) const {
  pending.completed = true;
  pending.result = answer(pending.block, pending.fault, moved);
  if (pending.fault == Fault::flipped && pending.block.direction == Direction::read && moved > 0) {
    *pending.block.memory ^= std::byte{4};
  }
}

void FaultyEngine::reap(bool wait, std::vector<Completion>& completed) {
  const size_t before = completed.size();
  do {
    const bool ready = std::any_of(pending_.begin(), pending_.end(),
                                   [](const auto& entry) { return entry.second.completed; });
    std::vector<Completion> inner;
    inner_->reap(wait && !ready, inner);
    for (const Completion& completion : inner) {
      const auto entry = std::find_if(pending_.begin(), pending_.end(), [&](const auto& candidate) {
        return candidate.first == completion.tag;
      });
      finish(entry->second, completion.result);
    }
    // The last one first: nobody may rely on an order.
    for (size_t i = pending_.size(); i > 0; --i) {
      Pending& pending = pending_[i - 1].second;
      if (!pending.completed || pending.reaps_left-- > 0) continue;
      completed.push_back({pending_[i - 1].first, pending.result});
      pending_.erase(pending_.begin() + int64_t(i) - 1);
    }
  } while (wait && completed.size() == before && !pending_.empty());
}

}  // namespace zero::testing
