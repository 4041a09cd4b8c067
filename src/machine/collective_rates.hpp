#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "zero/comm/communicator.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/tree_sum.hpp"
#include "zero/launch/peers.hpp"

namespace zero::machine {

/// Returns the seconds that `work` takes.
inline double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A communicator with the buffers of its collectives, a shard for each rank. Shards and numbers of
/// calls are smaller on a slow link.
class CollectiveRates {
 public:
  static constexpr int64_t kShardNumel = int64_t(4) << 20;  ///< at most, 8 MiB of bf16
  static constexpr int64_t kWords = 64;                     ///< words of a small collective

  CollectiveRates(const launch::Peers& peers, std::unique_ptr<comm::Communicator> comm)
      : peers_(peers),
        comm_(std::move(comm)),
        stream_(1),
        full_(comm_->ranks() * kShardNumel * 2, Place::device),
        shard_(kShardNumel * 4, Place::device),
        sums_(kernels::group_sums(comm_->ranks()) * kShardNumel * 4, Place::device),
        words_(kWords * int64_t(sizeof(int64_t)), Place::device) {
    full_.touch(1);
    shard_.touch(1);
    // The first calls set up buffers.
    call_both();
    while (numel_ < kShardNumel && longest([&] { call_both(); }) < kEnoughSeconds) numel_ *= 4;
    while (calls_ < kMostCalls && longest([&] { call_small(); }) < kEnoughSeconds) calls_ *= 2;
  }

  int64_t shard_numel() const { return numel_; }  ///< elements of a measured shard
  int calls() const { return calls_; }            ///< small collectives of a measurement

  /// Returns the bytes a second that this rank sends. Collective.
  double gather_rate() {
    return rate(
        [&] { comm_->all_gather(stream_, Dtype::bf16, piece(), shard_.data(), full_.data()); });
  }
  double reduce_rate() {
    return rate([&] {
      const comm::Communicator::Reduction reduction{
          .in = Dtype::bf16,
          .out = Dtype::f32,
          .group_sums = reinterpret_cast<float*>(sums_.data())};
      comm_->reduce_scatter(stream_, reduction, piece(), full_.data(), shard_.data());
    });
  }
  /// Returns the small collectives a second.
  double calls_per_second() {
    return calls_ / seconds_of([&] { call_small(); });
  }

 private:
  /// Seconds of a measurement that is long beside the latency of a link.
  static constexpr double kEnoughSeconds = 0.05;
  static constexpr int kFewestCalls = 25, kMostCalls = 200;

  comm::Piece piece() const { return {.shard_numel = numel_, .begin = 0, .numel = numel_}; }
  void call_both() {
    gather_rate();
    reduce_rate();
  }
  void call_small() {
    const std::span words(reinterpret_cast<int64_t*>(words_.data()), size_t(kWords));
    for (int i = 0; i < calls_; ++i) comm_->all_reduce(stream_, words);
    stream_.wait();
  }
  /// Returns the longest seconds of any rank. Collective over all ranks.
  double longest(const std::function<void()>& work) const {
    constexpr double kMicroseconds = 1e6;
    return double(peers_.largest(int64_t(kMicroseconds * seconds_of(work)))) / kMicroseconds;
  }

  double rate(const std::function<void()>& verb) {
    const double sent = double((comm_->ranks() - 1) * numel_ * 2);
    return sent / seconds_of([&] {
             verb();
             stream_.wait();
           });
  }

  const launch::Peers& peers_;
  std::unique_ptr<comm::Communicator> comm_;
  int64_t numel_ = kShardNumel / 64;
  int calls_ = kFewestCalls;
  Stream stream_;
  Arena full_, shard_, sums_, words_;
};

}  // namespace zero::machine
