#pragma once
/// A communicator that takes memory of its device at the first call of each verb, as NCCL does.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/comm/communicator.hpp"

namespace zero::testing {

/// The bytes of a device that somebody has taken.
class FakeDevice {
 public:
  explicit FakeDevice(int64_t bytes) : bytes_(bytes) {}
  void take(int64_t bytes) {
    if (bytes > free()) refuse(Exit::kDoesNotFit, bytes, " bytes of ", free(), " that are free");
    used_ += bytes;
  }
  int64_t used() const { return used_; }
  int64_t free() const { return bytes_ - used_; }

 private:
  int64_t bytes_, used_ = 0;
};

/// Verbs of `inner`. `device` outlives it.
class LazyCommunicator final : public comm::Communicator {
 public:
  LazyCommunicator(std::unique_ptr<comm::Communicator> inner, FakeDevice& device, int64_t bytes)
      : inner_(std::move(inner)), device_(device), bytes_(bytes) {}

  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  std::string_view backend() const override { return "lazy"; }

  void all_gather(Stream& stream, Dtype dtype, const comm::Piece& piece, const void* shard,
                  void* full) override {
    first("all_gather");
    inner_->all_gather(stream, dtype, piece, shard, full);
  }
  void reduce_scatter(Stream& stream, const Reduction& reduction, const comm::Piece& piece,
                      const void* full, void* shard) override {
    first("reduce_scatter");
    inner_->reduce_scatter(stream, reduction, piece, full, shard);
  }
  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    first("all_reduce");
    inner_->all_reduce(stream, words);
  }
  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    first("broadcast");
    inner_->broadcast(stream, bytes, root);
  }
  void barrier() override { inner_->barrier(); }

  /// The verbs that have been called.
  const std::set<std::string>& called() const { return called_; }

 private:
  void first(const std::string& verb) {
    if (called_.insert(verb).second) device_.take(bytes_);
  }

  std::unique_ptr<comm::Communicator> inner_;
  FakeDevice& device_;
  int64_t bytes_;
  std::set<std::string> called_;
};

}  // namespace zero::testing
