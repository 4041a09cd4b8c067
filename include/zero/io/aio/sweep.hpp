#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "zero/io/aio/queue.hpp"

namespace zero::aio {

enum class Pattern : uint8_t {
  read,
  write,
  mixed,  ///< a read and a write in turns, half the region apart
};

/// Transfers of one length, one behind the other from the start of a file, to measure its disk.
/// Each goes as soon as the queue is done with any other.
struct Sweep {
  Pattern pattern = Pattern::read;
  const File* file = nullptr;
  int64_t region_bytes = 0;  ///< of the file; where it ends, its start follows
  int64_t transfer_bytes = int64_t(1) << 20;
  /// Room for as many transfers as are in the queue at a time: at most its
  /// QueueOptions::transfers.
  std::span<std::byte> memory = {};
  int64_t bytes = 0;                                              ///< to be moved
  double most_seconds = std::numeric_limits<double>::infinity();  ///< none begins later
};

struct Swept {
  int64_t bytes_read = 0, bytes_written = 0;
  double seconds = 0;
  double bytes_per_second() const { return double(bytes_read + bytes_written) / seconds; }
};

/// Does it and says how long that took. Nothing else may be in the queue. Throws Error(kIo) as
/// Queue::wait(); the memory must then outlive the queue.
Swept sweep(Queue& queue, const Sweep& asked);

}  // namespace zero::aio
