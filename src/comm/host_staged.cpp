#include <algorithm>
#include <string>

#include "src/comm/host_communicator.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

/// Bytes of the widest element that sums are made of or stored as.
constexpr int64_t kElementBytes = 4;

const std::byte* element(const void* array, int64_t i, int64_t bytes) {
  return static_cast<const std::byte*>(array) + i * bytes;
}
std::byte* element(void* array, int64_t i, int64_t bytes) {
  return static_cast<std::byte*>(array) + i * bytes;
}

/// Returns the staging bytes of one element of a piece: one element of every rank, one of the own
/// shard, and the sums of groups.
int64_t bytes_per_element(int ranks) {
  return (ranks + 1 + kernels::group_sums(ranks)) * kElementBytes;
}

class HostStaged final : public Communicator {
 public:
  HostStaged(std::unique_ptr<Communicator> host, int64_t staging_bytes)
      : host_(std::move(host)),
        name_(text("host-staged ", host_->backend())),
        most_(part_numel(staging_bytes, bytes_per_element(host_->ranks()))),
        staging_(staging_bytes, Place::pinned) {}

  int rank() const override { return host_->rank(); }
  int ranks() const override { return host_->ranks(); }
  std::string_view backend() const override { return name_; }
  Border border() const override { return host_->border(); }

  void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                  void* full) override {
    require_piece(piece);
    const int64_t bytes = int64_t(bytes_of(dtype));
    for_each_part(piece.numel, most_, [&](int64_t first, int64_t numel) {
      const int64_t begin = piece.begin + first;
      copy(stream, element(shard, begin, bytes), own(numel), numel * bytes);
      host_->all_gather(stream, dtype, whole(numel), own(numel), all());
      for (int r = 0; r < ranks(); ++r)
        copy(stream, element(all(), r * numel, bytes),
             element(full, r * piece.shard_numel + begin, bytes), numel * bytes);
    });
    count(&TrafficTable::all_gather);
  }

  void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                      const void* full, void* shard) override {
    require_piece(piece);
    const int64_t in = int64_t(bytes_of(reduction.in)), out = int64_t(bytes_of(reduction.out));
    for_each_part(piece.numel, most_, [&](int64_t first, int64_t numel) {
      const int64_t begin = piece.begin + first;
      for (int r = 0; r < ranks(); ++r)
        copy(stream, element(full, r * piece.shard_numel + begin, in),
             element(all(), r * numel, in), numel * in);
      if (reduction.store == Store::add)
        copy(stream, element(shard, begin, out), own(numel), numel * out);
      Reduction staged = reduction;
      staged.group_sums = reinterpret_cast<float*>(own(numel) + numel * kElementBytes);
      host_->reduce_scatter(stream, staged, whole(numel), all(), own(numel));
      copy(stream, own(numel), element(shard, begin, out), numel * out);
    });
    count(&TrafficTable::reduce_scatter);
  }

  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    const int64_t bytes = int64_t(sizeof(int64_t));
    for_each_part(int64_t(words.size()), staging_.bytes() / bytes, [&](int64_t first, int64_t n) {
      std::byte* const part = element(words.data(), first, bytes);
      copy(stream, part, all(), n * bytes);
      host_->all_reduce(stream, {reinterpret_cast<int64_t*>(all()), size_t(n)});
      copy(stream, all(), part, n * bytes);
    });
    count(&TrafficTable::all_reduce);
  }

  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    for_each_part(int64_t(bytes.size()), staging_.bytes(), [&](int64_t first, int64_t n) {
      if (rank() == root) copy(stream, bytes.data() + first, all(), n);
      host_->broadcast(stream, {all(), size_t(n)}, root);
      if (rank() != root) copy(stream, all(), bytes.data() + first, n);
    });
    count(&TrafficTable::broadcast);
  }

  void barrier() override { host_->barrier(); }

 private:
  /// Calls work(first, numel) for parts of at most `most` elements. Calls it once if there are
  /// none, so the host's communicator reports that error.
  template <class Work>
  static void for_each_part(int64_t numel, int64_t most, const Work& work) {
    int64_t first = 0;
    do {
      work(first, std::min(most, numel - first));
      first += most;
    } while (first < numel);
  }

  static Piece whole(int64_t numel) { return {.shard_numel = numel, .begin = 0, .numel = numel}; }

  /// all(): the pieces of all ranks, side by side. own(): this rank's piece behind them, then the
  /// sums of groups.
  std::byte* all() const { return staging_.data(); }
  std::byte* own(int64_t numel) const { return all() + ranks() * numel * kElementBytes; }

  /// Copies and waits, because the host's communicators and the next part reuse the memory.
  static void copy(Stream& stream, const std::byte* from, std::byte* to, int64_t bytes) {
    copy_bytes(stream, {from, size_t(std::max<int64_t>(0, bytes))}, to);
    stream.wait();
  }

  /// Counts one call per verb, for any number of parts, and the bytes that the host's communicator
  /// has sent.
  void count(Traffic TrafficTable::*verb) {
    const Traffic& sent = host_->traffic().*verb;
    Traffic& own_verb = traffic_.*verb;
    own_verb = {.calls = own_verb.calls + 1,
                .elements_sent = sent.elements_sent,
                .bytes_sent = sent.bytes_sent,
                .node_bytes_sent = sent.node_bytes_sent};
  }

  std::unique_ptr<Communicator> host_;
  std::string name_;
  int64_t most_;  ///< elements of a part
  Arena staging_;
};

}  // namespace

std::unique_ptr<Communicator> make_host_staged(std::unique_ptr<Communicator> host,
                                               const HostStagedOptions& options) {
  const int64_t least = bytes_per_element(host->ranks());
  if (options.staging_bytes < least) {
    refuse(Exit::kUsage, "staging of ", options.staging_bytes, " bytes for ", host->ranks(),
           " ranks: need at least ", least);
  }
  return std::make_unique<HostStaged>(std::move(host), options.staging_bytes);
}

}  // namespace zero::comm
