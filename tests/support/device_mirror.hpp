#pragma once
/// A communicator for tests whose arrays lie in host memory that a device reaches: the verbs of
/// another one, on copies in device memory. NCCL's kernels do not take every host address.

#include <memory>
#include <utility>

#include "zero/base/dtype.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"

namespace zero::testing {

/// Waits for each verb, so that the copies can end with it.
class DeviceMirror final : public comm::Communicator {
 public:
  explicit DeviceMirror(std::unique_ptr<comm::Communicator> inner) : inner_(std::move(inner)) {}

  const comm::Communicator& inner() const { return *inner_; }
  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  std::string_view backend() const override { return inner_->backend(); }
  bool needs_one_order() const override { return inner_->needs_one_order(); }
  Arena take_arena(int64_t bytes) const override { return inner_->take_arena(bytes); }
  std::unique_ptr<comm::Window> open_window(const Arena& block) override {
    return inner_->open_window(block);
  }

  void all_gather(Stream& stream, Dtype dtype, const comm::Piece& piece, const void* shard,
                  void* full) override {
    const size_t bytes = size_t(piece.shard_numel) * bytes_of(dtype);
    const Copy whole(stream, full, bytes * size_t(ranks()));
    const auto at = static_cast<const std::byte*>(shard) - static_cast<std::byte*>(full);
    const bool inside = at >= 0 && size_t(at) < bytes * size_t(ranks());
    const Copy apart(stream, inside ? full : shard, bytes);
    inner_->all_gather(stream, dtype, piece, inside ? whole.data() + at : apart.data(),
                       whole.data());
    finish(stream, whole, full);
  }

  void reduce_scatter(Stream& stream, const Reduction& reduction, const comm::Piece& piece,
                      const void* full, void* shard) override {
    const size_t in = bytes_of(reduction.in), out = bytes_of(reduction.out);
    const Copy from(stream, full, size_t(piece.shard_numel) * in * size_t(ranks()));
    const Copy to(stream, shard, size_t(piece.shard_numel) * out);
    inner_->reduce_scatter(stream, reduction, piece, from.data(), to.data());
    finish(stream, to, shard);
  }

  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    const Copy copy(stream, words.data(), words.size_bytes());
    inner_->all_reduce(stream, {reinterpret_cast<int64_t*>(copy.data()), words.size()});
    finish(stream, copy, words.data());
  }

  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    const Copy copy(stream, bytes.data(), bytes.size());
    inner_->broadcast(stream, {copy.data(), bytes.size()}, root);
    finish(stream, copy, bytes.data());
  }

  void barrier() override { inner_->barrier(); }
  void require_sound() const override { inner_->require_sound(); }

 private:
  /// An array's bytes in device memory.
  class Copy {
   public:
    Copy(Stream& stream, const void* array, size_t bytes)
        : bytes_(bytes), arena_(int64_t(bytes), Place::device) {
      copy_bytes(stream, {static_cast<const std::byte*>(array), bytes}, arena_.data());
    }
    std::byte* data() const { return arena_.data(); }
    size_t bytes() const { return bytes_; }

   private:
    size_t bytes_;
    Arena arena_;
  };

  void finish(Stream& stream, const Copy& copy, void* array) {
    copy_bytes(stream, {copy.data(), copy.bytes()}, static_cast<std::byte*>(array));
    stream.wait();
    traffic_ = inner_->traffic();
  }

  std::unique_ptr<comm::Communicator> inner_;
};

}  // namespace zero::testing
