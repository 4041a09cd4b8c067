#include "tests/support/thread_group.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "src/comm/counter.hpp"
#include "src/comm/host_communicator.hpp"
#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

// What a rank shows its peers between its arrival and their leaving.
struct Slot {
  Call call{};
  std::byte* data = nullptr;
  uint32_t passed = 0;  ///< verbs; the rank's own
};

// All ranks raise the same two counters, so that a meeting of many wakes each of them once.
struct Channel {
  explicit Channel(int ranks) : slots(size_t(ranks)) {}

  std::vector<Slot> slots;
  Counter arrived;
  Counter left;
};

void throw_if_aborted(void* aborted) {
  if (!static_cast<std::atomic<bool>*>(aborted)->load()) return;
  throw Error(Exit::kInternal, "a peer rank has failed: its thread group was aborted");
}

class ThreadCommunicator final : public HostCommunicator {
 public:
  ThreadCommunicator(int rank, Channel& channel, std::atomic<bool>& aborted)
      : HostCommunicator(rank, int(channel.slots.size())),
        channel_(channel),
        slots_(channel.slots),
        waiting_{.hook = throw_if_aborted, .context = &aborted},
        calls_(slots_.size()),
        sources_(slots_.size()) {}

  std::string_view backend() const override { return "thread"; }

 private:
  void gather(const Call& call, const std::byte* shard, std::byte* full) override {
    arrive(call, const_cast<std::byte*>(shard));
    count_sent(call, call.numel * (ranks() - 1));
    place_own_piece(call, rank(), shard, full);
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank()) place_own_piece(call, peer, slot(peer).data, full);
    }
    leave();
  }

  void reduce(const Call& call, const std::byte* full, std::byte* shard, float* sums) override {
    arrive(call, const_cast<std::byte*>(full));
    count_sent(call, call.numel * (ranks() - 1));
    for (size_t peer = 0; peer < slots_.size(); ++peer) {
      sources_[peer] = slots_[peer].data + call.offset_in_full(rank(), 0);
    }
    sum_sources(call, sources_, call.numel, shard + call.begin * call.out_bytes(), sums);
    leave();
  }

  // Rank r owns the r-th part of every rank's words, so nobody reads what another writes.
  void sum_words(const Call& call, int64_t* words) override {
    arrive(call, reinterpret_cast<std::byte*>(words));
    count_sent(call, call.numel * (ranks() - 1));
    const int64_t begin = call.numel * rank() / ranks();
    const int64_t numel = call.numel * (rank() + 1) / ranks() - begin;
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank()) add_words(words + begin, words_of(peer) + begin, numel);
    }
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank()) std::copy_n(words + begin, numel, words_of(peer) + begin);
    }
    leave();
  }

  void copy_from_root(const Call& call, std::byte* bytes) override {
    arrive(call, bytes);
    if (rank() == call.root) {
      count_sent(call, call.numel * (ranks() - 1));
    } else {
      std::memcpy(bytes, slot(call.root).data, size_t(call.numel));
    }
    leave();
  }

  void meet(const Call& call) override {
    arrive(call, nullptr);
    leave();
  }

  Slot& slot(int rank) { return slots_[size_t(rank)]; }
  int64_t* words_of(int rank) { return reinterpret_cast<int64_t*>(slot(rank).data); }

  // Returns when all ranks have shown the same call, and their data may be read.
  void arrive(const Call& call, std::byte* data) {
    ++slot(rank()).passed;
    slot(rank()).call = call;
    slot(rank()).data = data;
    meet_at(channel_.arrived);
    for (size_t peer = 0; peer < slots_.size(); ++peer) calls_[peer] = slots_[peer].call;
    require_same(calls_);
  }

  // Returns when no peer reads this rank's data any more.
  void leave() { meet_at(channel_.left); }

  void meet_at(Counter& counter) {
    const uint32_t all = slot(rank()).passed * uint32_t(ranks());
    add_one(counter, all);
    wait_for(counter, all, waiting_);
  }

  Channel& channel_;
  std::vector<Slot>& slots_;
  Waiting waiting_;
  std::vector<Call> calls_;
  std::vector<const std::byte*> sources_;
};

}  // namespace

struct ThreadGroup::Shared {
  int ranks;
  std::atomic<bool> aborted{false};
  std::mutex mutex;
  std::map<int, Channel> channels;
};

ThreadGroup::ThreadGroup(int ranks) : shared_(std::make_unique<Shared>()) {
  require_ranks(ranks);
  shared_->ranks = ranks;
}

ThreadGroup::~ThreadGroup() = default;

std::unique_ptr<Communicator> ThreadGroup::join(int rank, int channel) {
  const std::lock_guard lock(shared_->mutex);
  ZERO_REQUIRE(rank >= 0 && rank < shared_->ranks, "rank ", rank, " joins a group of ",
               shared_->ranks);
  Channel& joined = shared_->channels.try_emplace(channel, shared_->ranks).first->second;
  return std::make_unique<ThreadCommunicator>(rank, joined, shared_->aborted);
}

void ThreadGroup::abort() {
  shared_->aborted.store(true);
  const std::lock_guard lock(shared_->mutex);
  for (auto& [number, channel] : shared_->channels) {
    wake(channel.arrived);
    wake(channel.left);
  }
}

}  // namespace zero::comm
