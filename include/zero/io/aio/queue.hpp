#pragma once
/// What moves blocks between memory and files in the background. An engine reports what the kernel
/// said and judges nothing; Queue is what the rest of the program uses.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero::aio {

enum class Direction : uint8_t { read, write };

/// A stretch of a file and the memory that it is read to or written from.
struct Block {
  Direction direction = Direction::read;
  int file = -1;  ///< descriptor
  int64_t offset = 0;
  std::byte* memory = nullptr;
  int64_t bytes = 0;
};

struct Completion {
  uint64_t tag;
  int64_t result;  ///< bytes moved, which may be fewer than asked for, or -errno
};

/// Used by one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;

  /// "io_uring", "threads"
  virtual std::string_view name() const = 0;
  /// Blocks in flight at most.
  virtual int depth() const = 0;
  /// Lets the kernel keep memory mapped that blocks will lie in, where its limits allow; blocks
  /// elsewhere are moved too. Once, with nothing in flight; the memory outlives the engine. Returns
  /// "" or why it does not.
  virtual std::string register_memory(std::span<std::byte> memory) = 0;
  /// Takes a block, whose memory must stay until it has completed. Fewer than depth() are in
  /// flight. Nothing moves before flush().
  virtual void start(const Block& block, uint64_t tag) = 0;
  /// Lets everything started go. A block that the kernel does not take, however often it is asked
  /// within a second, completes with its -errno.
  virtual void flush() = 0;
  /// Appends what has completed since; waits for one where `wait` and something is in flight.
  virtual void reap(bool wait, std::vector<Completion>& completed) = 0;
};

struct EngineOptions {
  int depth = 8;               ///< aio.queue_depth
  int threads = 1;             ///< aio.intra_op_parallelism, of the fallback
  bool require_uring = false;  ///< aio.require_uring: refuse the fallback
  /// Memory that all blocks lie in, registered with the kernel where its limits allow.
  std::span<std::byte> memory = {};
};

struct EngineChoice {
  std::unique_ptr<Engine> engine;
  std::string warning;  ///< why it is not the best one; "" if it is
};

/// io_uring where the kernel lets us, else threads, which move the same bytes. Throws Error(kUsage)
/// with the reason if io_uring is required and not to be had.
EngineChoice make_engine(const EngineOptions& options);

/// The two engines that make_engine() chooses from. The first is null with the reason in `why`
/// where the kernel, its limits or the build lack io_uring.
std::unique_ptr<Engine> make_uring_engine(const EngineOptions& options, std::string& why);
std::unique_ptr<Engine> make_thread_engine(const EngineOptions& options);

/// A file that transfers go to; `name` is for messages. Does not own the descriptor.
struct File {
  int descriptor = -1;
  std::string name;
};

/// One stretch of bytes to be read or written as a whole. File and memory outlive it.
struct Transfer {
  Direction direction = Direction::read;
  const File* file = nullptr;
  int64_t offset = 0;
  std::span<std::byte> memory;
};

/// One transfer in flight.
struct Ticket {
  uint32_t slot = 0;
  uint32_t turn = 0;  ///< of the slot
};

struct QueueOptions {
  int64_t block_bytes = int64_t(1) << 20;  ///< aio.block_size: a transfer goes in such pieces
  bool single_submit = false;  ///< aio.single_submit: one system call a block, not one a batch
  bool overlap_events = true;  ///< aio.overlap_events: new blocks go before all old ones are back
  int transfers = 64;          ///< submitted and not waited for, at most
};

/// What has moved, in bytes and blocks.
struct QueueTraffic {
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t blocks = 0;
  int64_t resubmitted = 0;  ///< after short transfers and interruptions
};

/// Transfers of any length over an engine of blocks. Every result is compared with what was asked
/// for: a short block is continued, an interrupted one repeated, 16 attempts without progress and
/// any other errno are the transfer's error. Used by one thread at a time; allocates nothing after
/// its construction.
class Queue {
 public:
  Queue(std::unique_ptr<Engine> engine, const QueueOptions& options);
  /// Waits for all blocks in flight, whose memory may be gone afterwards; drops errors.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// As Engine::register_memory(), between transfers.
  std::string register_memory(std::span<std::byte> memory) {
    return engine_->register_memory(memory);
  }

  /// Starts it, or queues it after those that fill the engine. Never waits; refuses one beyond
  /// QueueOptions::transfers.
  Ticket submit(const Transfer& transfer);

  /// Whether a transfer has ended, well or not. Does not wait. A ticket that was waited for is
  /// done.
  bool done(Ticket ticket);

  /// Returns when the transfer has moved all its bytes. Throws Error(kIo) naming file, direction,
  /// offset, length and reason. Each ticket is waited for once; other transfers go on.
  void wait(Ticket ticket);

  /// Returns when a block has completed since, of whichever transfer; at once where none is in
  /// flight.
  void wait_for_block() { pump(true); }

  const QueueTraffic& traffic() const { return traffic_; }
  /// Both directions, block by block: readable from any thread at any time.
  int64_t moved_bytes() const { return moved_bytes_.load(std::memory_order_relaxed); }
  const Engine& engine() const { return *engine_; }

 private:
  /// One transfer.
  struct Slot {
    Transfer transfer;
    uint32_t turn = 0;
    bool taken = false;
    int64_t started = 0;  ///< bytes handed out in pieces
    int pieces = 0;       ///< in flight
    int64_t failed_offset = 0, failed_bytes = 0;
    int64_t error = 0;  ///< errno; kNoProgress and more
  };
  /// One block in flight, found by its tag.
  struct Piece {
    uint32_t slot = 0;
    Block block;
    int stalls = 0;
  };

  bool ended(const Slot& slot) const;
  uint32_t take_slot();
  void pump(bool wait);
  void start_pieces();
  bool start_piece(uint32_t slot);
  void send(uint32_t piece);
  void complete(const Completion& completion);
  void give_back(uint32_t piece);
  void fail(Piece& piece, int64_t error);
  [[noreturn]] void refuse_transfer(const Slot& slot) const;

  std::unique_ptr<Engine> engine_;
  QueueOptions options_;
  QueueTraffic traffic_;
  std::atomic<int64_t> moved_bytes_{0};
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> order_;  ///< slots with bytes left to start, the oldest first
  std::vector<Piece> pieces_;    ///< [depth]
  std::vector<uint32_t> free_pieces_;
  std::vector<uint32_t> again_;  ///< pieces to be sent anew
  std::vector<Completion> completed_;
};

enum class Pattern : uint8_t {
  read,
  write,
  mixed,  ///< a read and a write in turns, half the region apart
};

/// Transfers of one length, one after the other from the start of a file, to measure its disk. Each
/// goes as soon as the queue is done with any other.
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
