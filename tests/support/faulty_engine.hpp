#pragma once
/// An engine whose disk misbehaves, for tests of what stands above it.

#include <array>
#include <memory>
#include <vector>

#include "zero/io/aio/queue.hpp"

namespace zero::testing {

enum class Fault : uint8_t {
  none,
  shortened,    ///< moves part of a block, in whole pages, and says so; of a page all
  nothing,      ///< moves no byte and says so
  interrupted,  ///< -EINTR
  late,         ///< completes some reaps later, behind others
  eio,          ///< -EIO
  enospc,       ///< -ENOSPC
  flipped,      ///< moves all but turns one bit round
  stale,        ///< says that it moved and does not
  misdirected,  ///< moves all to or from the next block's place
  torn,         ///< moves the first half and says all
  count_
};
inline constexpr int kFaults = int(Fault::count_);

/// A fault that is not left to chance.
struct Strike {
  Fault fault = Fault::none;
  uint32_t block = 0;    ///< which one suffers it, counted from 0 as the engine gets them
  bool lasting = false;  ///< and all after it
};

/// Faults drawn by lot, the same for the same seed and blocks; or one that is told.
class FaultyEngine final : public aio::Engine {
 public:
  /// `chance[f]` of a block to suffer fault f.
  using Chances = std::array<double, kFaults>;
  FaultyEngine(std::unique_ptr<aio::Engine> inner, uint64_t seed, const Chances& chances);
  FaultyEngine(std::unique_ptr<aio::Engine> inner, const Strike& strike);

  std::string_view name() const override { return "faulty"; }
  int depth() const override { return inner_->depth(); }
  std::string register_memory(std::span<std::byte> memory) override {
    return inner_->register_memory(memory);
  }
  void start(const aio::Block& block, uint64_t tag) override;
  void flush() override { inner_->flush(); }
  void reap(bool wait, std::vector<aio::Completion>& completed) override;

  /// Blocks that suffered it so far.
  int count(Fault fault) const { return counts_[size_t(fault)]; }

 private:
  struct Pending {
    aio::Block block;  ///< as it was asked for
    Fault fault = Fault::none;
    int reaps_left = 0;
    bool completed = false;
    int64_t result = 0;
    std::vector<std::byte> copy = {};  ///< what is written instead
  };
  Fault draw();
  void finish(Pending& pending, int64_t result) const;

  std::unique_ptr<aio::Engine> inner_;
  uint64_t seed_ = 0;
  uint32_t drawn_ = 0;
  Chances chances_{};
  Strike strike_;
  std::array<int, kFaults> counts_{};
  std::vector<std::pair<uint64_t, Pending>> pending_;
};

}  // namespace zero::testing
