#pragma once
/// An engine whose disk misbehaves, for tests of what stands above it.

#include <array>
#include <memory>
#include <vector>

#include "zero/io/aio/engine.hpp"

namespace zero::test {

enum class Fault : uint8_t {
  none,
  shortened,    ///< moves part of a block and says so
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

/// Faults drawn by lot, the same for the same seed and blocks.
class FaultyEngine final : public aio::Engine {
 public:
  /// `chance[f]` of a block to suffer fault f.
  using Chances = std::array<double, kFaults>;
  FaultyEngine(std::unique_ptr<aio::Engine> inner, uint64_t seed, const Chances& chances);

  std::string_view name() const override { return "faulty"; }
  int depth() const override { return inner_->depth(); }
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
  uint64_t seed_;
  uint32_t drawn_ = 0;
  Chances chances_;
  std::array<int, kFaults> counts_{};
  std::vector<std::pair<uint64_t, Pending>> pending_;
};

}  // namespace zero::test
