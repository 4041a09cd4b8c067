// Ranks: 1
#include "src/machine/collective_rates.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "zero/comm/backends.hpp"

namespace zero::machine {
namespace {

/// Verbs of one rank that take as long as over a slow link: 1 us an element, 4 ms a call.
class SlowLink final : public comm::Communicator {
 public:
  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  std::string_view backend() const override { return "slow"; }
  void all_gather(Stream& stream, Dtype dtype, const comm::Piece& piece, const void* shard,
                  void* full) override {
    std::this_thread::sleep_for(std::chrono::microseconds(piece.numel));
    inner_->all_gather(stream, dtype, piece, shard, full);
  }
  void reduce_scatter(Stream& stream, const Reduction& reduction, const comm::Piece& piece,
                      const void* full, void* shard) override {
    inner_->reduce_scatter(stream, reduction, piece, full, shard);
  }
  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    inner_->all_reduce(stream, words);
  }
  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    inner_->broadcast(stream, bytes, root);
  }
  void barrier() override { inner_->barrier(); }

 private:
  std::unique_ptr<comm::Communicator> inner_ = comm::make_self();
};

TEST(CollectiveRates, MeasureLargeShardsOnAFastLink) {
  const launch::Peers peers;
  const CollectiveRates rates(peers, comm::make_self());
  EXPECT_EQ(rates.shard_numel(), CollectiveRates::kShardNumel);
}

TEST(CollectiveRates, MeasureFewAndSmallOnesOnASlowLink) {
  const launch::Peers peers;
  const CollectiveRates rates(peers, std::make_unique<SlowLink>());
  EXPECT_EQ(rates.shard_numel(), CollectiveRates::kShardNumel / 64);
  EXPECT_EQ(rates.calls(), 25);
}

}  // namespace
}  // namespace zero::machine
