#include "zero/launch/peers.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <numeric>
#include <thread>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {
namespace {

/// Sleeps of a waiting rank. The first are short, because ranks with equal work arrive close
/// together.
constexpr std::chrono::microseconds kShortestNap{20}, kLongestNap{250};

/// The texts of all ranks, one after the other.
struct Texts {
  explicit Texts(int ranks) : lengths(size_t(ranks), 0), begins(size_t(ranks), 0) {}

  /// Sets begins and bytes by the lengths.
  void lay_out() {
    const int64_t all = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    ZERO_REQUIRE(all <= INT_MAX, "texts of ", all, " bytes of all ranks");
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    bytes.resize(size_t(all));
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (size_t r = 0; r < lengths.size(); ++r) {
      found.push_back(bytes.substr(size_t(begins[r]), size_t(lengths[r])));
    }
    return found;
  }

  std::vector<int> lengths, begins;  ///< [ranks]
  std::string bytes;
};

}  // namespace

struct Peers::Channel {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, ranks = 1;
  Ballot cast;
  std::vector<Ballot> counted;  ///< [ranks]
  MPI_Request vote = MPI_REQUEST_NULL;
  Watchdog* watchdog = nullptr;
  bool asleep = false;
  std::shared_ptr<Activity> activity = std::make_shared<Activity>();

  /// Starts a request that other ranks complete, and waits for its end.
  template <class Start>
  void wait(const char* name, const Start& start) const {
    const Watchdog::Armed armed(watchdog, name);
    MPI_Request request = MPI_REQUEST_NULL;
    comm::check_mpi(start(&request), name);
    wait_for(request, name);
  }

  void wait_for(MPI_Request& request, const char* name) const {
    activity->place = name;
    test_until_ended(request, name);
    activity->place = nullptr;
    ++activity->ended;
  }

  void test_until_ended(MPI_Request& request, const char* name) const {
    if (!asleep) return comm::check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
    std::chrono::microseconds nap = kShortestNap;
    for (int ended = 0; !ended; nap = std::min(2 * nap, kLongestNap)) {
      comm::check_mpi(MPI_Test(&request, &ended, MPI_STATUS_IGNORE), name);
      if (!ended) std::this_thread::sleep_for(nap);
    }
  }

  template <class T>
  T reduce(T value, MPI_Datatype type, MPI_Op op) const {
    T result = 0;
    wait("MPI_Allreduce of all ranks",
         [&](MPI_Request* r) { return MPI_Iallreduce(&value, &result, 1, type, op, comm, r); });
    return result;
  }
};

Peers::Peers() : channel_(std::make_unique<Channel>()) {
  comm::check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &channel_->comm), "MPI_Comm_dup");
  comm::check_mpi(MPI_Comm_set_errhandler(channel_->comm, MPI_ERRORS_RETURN),
                  "MPI_Comm_set_errhandler");
  comm::check_mpi(MPI_Comm_rank(channel_->comm, &channel_->rank), "MPI_Comm_rank");
  comm::check_mpi(MPI_Comm_size(channel_->comm, &channel_->ranks), "MPI_Comm_size");
  channel_->counted.resize(size_t(channel_->ranks));
}

Peers::~Peers() {
  // A failure may leave a vote uncounted. Every rank has cast it.
  comm::warn_mpi(MPI_Wait(&channel_->vote, MPI_STATUS_IGNORE), "MPI_Wait for an uncounted vote");
  comm::warn_mpi(MPI_Comm_free(&channel_->comm), "MPI_Comm_free");
}

int Peers::rank() const { return channel_->rank; }
int Peers::ranks() const { return channel_->ranks; }

std::shared_ptr<const Peers::Activity> Peers::activity() const { return channel_->activity; }

bool Peers::wait_asleep(bool asleep) { return std::exchange(channel_->asleep, asleep); }

void Peers::watch_with(Watchdog* watchdog) { channel_->watchdog = watchdog; }

Watchdog* Peers::watchdog() const { return channel_->watchdog; }

double Peers::patience_seconds() const {
  return channel_->watchdog ? channel_->watchdog->timeout_seconds() : 0;
}

int64_t Peers::largest(int64_t value) const {
  return channel_->reduce(value, MPI_INT64_T, MPI_MAX);
}
int64_t Peers::smallest(int64_t value) const {
  return channel_->reduce(value, MPI_INT64_T, MPI_MIN);
}
double Peers::sum(double value) const { return channel_->reduce(value, MPI_DOUBLE, MPI_SUM); }

void Peers::smallest(std::span<int32_t> values) const {
  channel_->wait("MPI_Allreduce of all ranks", [&](MPI_Request* r) {
    return MPI_Iallreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_INT32_T, MPI_MIN,
                          channel_->comm, r);
  });
}

void Peers::add_up(std::span<uint64_t> values) const {
  channel_->wait("MPI_Allreduce of all ranks", [&](MPI_Request* r) {
    return MPI_Iallreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_UINT64_T, MPI_SUM,
                          channel_->comm, r);
  });
}

std::vector<std::string> Peers::share(const std::string& text) const {
  const int length = int(text.size());
  Texts all(ranks());
  channel_->wait("MPI_Allgather of all ranks", [&](MPI_Request* r) {
    return MPI_Iallgather(&length, 1, MPI_INT, all.lengths.data(), 1, MPI_INT, channel_->comm, r);
  });
  all.lay_out();
  if (all.bytes.empty()) return all.texts();
  channel_->wait("MPI_Allgatherv of all ranks", [&](MPI_Request* r) {
    return MPI_Iallgatherv(text.data(), length, MPI_CHAR, all.bytes.data(), all.lengths.data(),
                           all.begins.data(), MPI_CHAR, channel_->comm, r);
  });
  return all.texts();
}

std::vector<std::string> Peers::gather(const std::string& text) const {
  std::vector<std::string> texts = share(text);
  if (rank() != 0) texts.clear();
  return texts;
}

void Peers::send(std::span<const float> values, int to) const {
  channel_->wait("MPI_Send to another rank", [&](MPI_Request* r) {
    return MPI_Issend(values.data(), int(values.size()), MPI_FLOAT, to, 0, channel_->comm, r);
  });
}

void Peers::receive(std::span<float> values, int from) const {
  channel_->wait("MPI_Recv from another rank", [&](MPI_Request* r) {
    return MPI_Irecv(values.data(), int(values.size()), MPI_FLOAT, from, 0, channel_->comm, r);
  });
}

void Peers::cast_vote(const Ballot& ballot) {
  static_assert(sizeof(Ballot) == 16);
  channel_->cast = ballot;
  comm::check_mpi(
      MPI_Iallgather(&channel_->cast, int(sizeof(Ballot)), MPI_BYTE, channel_->counted.data(),
                     int(sizeof(Ballot)), MPI_BYTE, channel_->comm, &channel_->vote),
      "MPI_Iallgather");
}

int32_t Peers::count_vote() {
  constexpr const char* kName = "the ranks' vote about stopping";
  const Watchdog::Armed armed(channel_->watchdog, kName);
  channel_->wait_for(channel_->vote, kName);
  return std::ranges::max_element(channel_->counted, {}, &Ballot::word)->word;
}

std::span<const Ballot> Peers::ballots() const { return channel_->counted; }

}  // namespace zero::launch
