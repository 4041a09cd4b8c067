#include "zero/comm/warm_up.hpp"

#include <memory>

#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

/// Elements that every back end takes as one part.
constexpr int64_t kFewElements = 64;

/// A block like a plan's arena: peers may reach it, and a library prepares for that, too.
struct Block {
  Block(Communicator& comm, int64_t bytes)
      : arena(comm.take_arena(bytes)), window(comm.open_window(arena)) {}

  Arena arena;
  std::unique_ptr<Window> window;
};

Piece whole(int64_t numel) { return {.shard_numel = numel, .begin = 0, .numel = numel}; }
Piece half(int64_t numel) { return {.shard_numel = numel, .begin = 0, .numel = numel / 2}; }

void gather(Communicator& comm, Stream& stream, int64_t numel) {
  const int64_t bytes = int64_t(bytes_of(Dtype::bf16));
  const Block full(comm, comm.ranks() * numel * bytes);
  std::byte* const data = full.arena.data();
  std::byte* const shard = data + comm.rank() * numel * bytes;
  comm.all_gather(stream, Dtype::bf16, whole(numel), shard, data);
  comm.all_gather(stream, Dtype::bf16, half(numel), shard, data);
  stream.wait();
}

void reduce(Communicator& comm, Stream& stream) {
  const Block full(comm, comm.ranks() * kFewElements * int64_t(bytes_of(Dtype::bf16)));
  Arena shard(kFewElements * int64_t(sizeof(float)), Place::device);
  Arena sums(kernels::group_sums(comm.ranks()) * kFewElements * int64_t(sizeof(float)),
             Place::device);
  const Communicator::Reduction reduction{
      .in = Dtype::bf16, .out = Dtype::f32, .group_sums = reinterpret_cast<float*>(sums.data())};
  comm.reduce_scatter(stream, reduction, whole(kFewElements), full.arena.data(), shard.data());
  stream.wait();
}

void sum(Communicator& comm, Stream& stream) {
  Arena words(kFewElements * int64_t(sizeof(int64_t)), Place::device);
  comm.all_reduce(stream, {reinterpret_cast<int64_t*>(words.data()), size_t(kFewElements)});
  stream.wait();
}

}  // namespace

void warm_up(Communicator& comm, const Verbs& verbs, int64_t most_bytes) {
  Stream stream(1);
  if (verbs.gathers) {
    gather(comm, stream, kFewElements);
    const int64_t element = int64_t(bytes_of(Dtype::bf16)) * comm.ranks();
    const int64_t many = most_bytes / element / kFewElements * kFewElements;
    if (many > kFewElements) gather(comm, stream, many);
  }
  if (verbs.reduces) reduce(comm, stream);
  if (verbs.sums) sum(comm, stream);
}

}  // namespace zero::comm
