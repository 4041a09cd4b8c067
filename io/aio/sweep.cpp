#include <algorithm>
#include <chrono>

#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::aio {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns the index-th transfer, in place `place` of the memory.
Transfer transfer_at(const Sweep& asked, int64_t index, int64_t place) {
  const int64_t in_region = asked.region_bytes / asked.transfer_bytes;
  const bool mixed = asked.pattern == Pattern::mixed;
  const bool writes = mixed ? index % 2 == 1 : asked.pattern == Pattern::write;
  const int64_t along = mixed ? index / 2 + (writes ? in_region / 2 : 0) : index;
  return {.direction = writes ? Direction::write : Direction::read,
          .file = asked.file,
          .offset = along % in_region * asked.transfer_bytes,
          .memory = asked.memory.subspan(size_t(place * asked.transfer_bytes),
                                         size_t(asked.transfer_bytes))};
}

/// Returns the first place from `after` on whose transfer has ended; waits if needed. REQUIRES: all
/// places are taken.
int64_t next_free(Queue& queue, const std::vector<Ticket>& tickets, int64_t after) {
  const int64_t places = int64_t(tickets.size());
  while (true) {
    for (int64_t i = 0; i < places; ++i) {
      const int64_t place = (after + i) % places;
      if (!queue.done(tickets[size_t(place)])) continue;
      queue.wait(tickets[size_t(place)]);
      return place;
    }
    queue.wait_for_block();
  }
}

}  // namespace

Swept sweep(Queue& queue, const Sweep& asked) {
  const int64_t places = int64_t(asked.memory.size()) / asked.transfer_bytes;
  ZERO_REQUIRE(places >= 1 && asked.region_bytes >= asked.transfer_bytes, "transfers of ",
               asked.transfer_bytes, " bytes over ", asked.region_bytes, " of a file, with ",
               asked.memory.size(), " of memory: each must hold one");
  const QueueTraffic before = queue.traffic();
  std::vector<Ticket> tickets(size_t(places), Ticket{});
  const Clock::time_point begin = Clock::now();
  int64_t sent = 0, place = -1;
  while (sent * asked.transfer_bytes < asked.bytes && seconds_since(begin) < asked.most_seconds) {
    place = sent < places ? sent : next_free(queue, tickets, place + 1);
    tickets[size_t(place)] = queue.submit(transfer_at(asked, sent, place));
    ++sent;
  }
  tickets.resize(size_t(std::min(sent, places)));
  for (const Ticket& ticket : tickets) queue.wait(ticket);
  return {.bytes_read = queue.traffic().bytes_read - before.bytes_read,
          .bytes_written = queue.traffic().bytes_written - before.bytes_written,
          .seconds = seconds_since(begin)};
}

}  // namespace zero::aio
