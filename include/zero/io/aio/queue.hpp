#pragma once
/// Background transfers of blocks between memory and files. An engine reports the kernel's results
/// and judges nothing; the rest of the program uses Queue.

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

/// A stretch of a file, and the memory to read it to or write it from.
struct Block {
  Direction direction = Direction::read;
  int file = -1;  ///< file descriptor
  int64_t offset = 0;
  std::byte* memory = nullptr;
  int64_t bytes = 0;
};

struct Completion {
  uint64_t tag;
  int64_t result;  ///< bytes moved, maybe fewer than asked for, or -errno
};

/// A mover of blocks, used by one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Returns this engine's name: "io_uring", "threads".
  virtual std::string_view name() const = 0;
  /// Returns the most blocks that this engine has in flight.
  virtual int depth() const = 0;
  /// Registers `memory`, that of blocks, with the kernel, which keeps it mapped, within its limits.
  /// Blocks elsewhere are moved too. REQUIRES: one call, with nothing in flight; the memory
  /// outlives the engine. Returns "" or the reason for a failure.
  virtual std::string register_memory(std::span<std::byte> memory) = 0;
  /// Queues `block` until flush(). Its completion has `tag`. REQUIRES: fewer than depth() are in
  /// flight, and the memory stays until the block completes.
  virtual void start(const Block& block, uint64_t tag) = 0;
  /// Sends all started blocks. A block that the kernel refuses for a second of tries completes with
  /// its -errno.
  virtual void flush() = 0;
  /// Appends the completions since the last call to `completed`. With `wait`, waits for one if any
  /// block is in flight.
  virtual void reap(bool wait, std::vector<Completion>& completed) = 0;
};

struct EngineOptions {
  int depth = 8;               ///< blocks in flight: aio.queue_depth
  int threads = 1;             ///< threads of the fallback: aio.intra_op_parallelism
  bool require_uring = false;  ///< refuse the fallback: aio.require_uring
  /// Memory of all blocks, registered with the kernel where its limits allow.
  std::span<std::byte> memory = {};
};

struct EngineChoice {
  std::unique_ptr<Engine> engine;
  std::string warning;  ///< reason for a slower engine, else ""
};

/// Returns an io_uring engine if the kernel allows one, else threads, which move the same bytes.
/// Throws Error(kUsage) with the reason if io_uring is required but missing.
EngineChoice make_engine(const EngineOptions& options);

/// Returns an io_uring engine, or null with the reason in `why` if the kernel, its limits or the
/// build lack io_uring.
std::unique_ptr<Engine> make_uring_engine(const EngineOptions& options, std::string& why);
/// Returns an engine that moves blocks by threads.
std::unique_ptr<Engine> make_thread_engine(const EngineOptions& options);

/// A file for transfers; `name` is for messages. Does not own the descriptor.
struct File {
  int descriptor = -1;
  std::string name;
};

/// A stretch of bytes to read or write as a whole. File and memory outlive it.
struct Transfer {
  Direction direction = Direction::read;
  const File* file = nullptr;
  int64_t offset = 0;
  std::span<std::byte> memory;
};

/// A handle of a transfer in flight.
struct Ticket {
  uint32_t slot = 0;
  uint32_t turn = 0;  ///< use count of the slot
};

struct QueueOptions {
  int64_t block_bytes = int64_t(1) << 20;  ///< bytes of a piece: aio.block_size
  bool single_submit = false;  ///< a system call a block, not a batch: aio.single_submit
  bool overlap_events = true;  ///< new blocks go before all old ones are back: aio.overlap_events
  int transfers = 64;          ///< most transfers submitted and not waited for
};

/// The totals of a queue, in bytes and blocks.
struct QueueTraffic {
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t blocks = 0;
  int64_t resubmitted = 0;  ///< blocks sent again after short transfers and interruptions
};

/// A queue of transfers of any length over an engine of blocks. It compares every result with the
/// request: it continues a short block and repeats an interrupted one. A transfer fails after 16
/// attempts without progress or on any other errno. Used by one thread at a time. Allocates nothing
/// after its construction.
class Queue {
 public:
  /// Makes a queue over `engine`. REQUIRES: `block_bytes` and `transfers` of `options` are at least
  /// 1.
  Queue(std::unique_ptr<Engine> engine, const QueueOptions& options);
  /// Waits for all blocks in flight and drops their errors. Their memory may go afterwards.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Registers `memory` as Engine::register_memory(), and returns its answer. REQUIRES: no transfer
  /// is in flight.
  std::string register_memory(std::span<std::byte> memory) {
    return engine_->register_memory(memory);
  }

  /// Starts a transfer, or queues it while the engine is full, and returns its ticket. Never waits.
  /// Refuses more than QueueOptions::transfers.
  Ticket submit(const Transfer& transfer);

  /// True if the transfer of `ticket` has ended, well or not, or was waited for. Does not wait.
  bool done(Ticket ticket);

  /// Returns when the transfer of `ticket` has moved all its bytes; other transfers go on. Throws
  /// Error(kIo) naming file, direction, offset, length and reason. REQUIRES: each ticket is waited
  /// for once.
  void wait(Ticket ticket);

  /// Returns when any block has completed, or at once if none is in flight.
  void wait_for_block() { pump(true); }

  const QueueTraffic& traffic() const { return traffic_; }
  /// Returns the count of bytes moved both ways, block by block. Callable from any thread at any
  /// time.
  int64_t moved_bytes() const { return moved_bytes_.load(std::memory_order_relaxed); }
  const Engine& engine() const { return *engine_; }

 private:
  /// A transfer and its progress.
  struct Slot {
    Transfer transfer;
    uint32_t turn = 0;
    bool taken = false;
    int64_t started = 0;  ///< bytes handed out in pieces
    int pieces = 0;       ///< pieces in flight
    int64_t failed_offset = 0, failed_bytes = 0;
    int64_t error = 0;  ///< errno, or kNoProgress plus the last errno
  };
  /// A block in flight, found by its tag.
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
  std::vector<uint32_t> again_;  ///< pieces to send again
  std::vector<Completion> completed_;
};

enum class Pattern : uint8_t {
  read,
  write,
  mixed,  ///< reads and writes in turns, half the region apart
};

/// A series of equal transfers from the start of a file, to measure its disk. The next goes as soon
/// as the queue has ended any other.
struct Sweep {
  Pattern pattern = Pattern::read;
  const File* file = nullptr;
  int64_t region_bytes = 0;  ///< bytes of the file; after its end the start follows
  int64_t transfer_bytes = int64_t(1) << 20;
  /// Memory of the transfers in the queue at a time: at most QueueOptions::transfers.
  std::span<std::byte> memory = {};
  int64_t bytes = 0;                                              ///< bytes to move
  double most_seconds = std::numeric_limits<double>::infinity();  ///< no transfer begins later
};

struct Swept {
  int64_t bytes_read = 0, bytes_written = 0;
  double seconds = 0;
  double bytes_per_second() const { return double(bytes_read + bytes_written) / seconds; }
};

/// Runs the sweep `asked` on `queue` and returns its bytes and seconds. REQUIRES: the queue is
/// empty. Throws Error(kIo) as Queue::wait(); then the memory must outlive the queue.
Swept sweep(Queue& queue, const Sweep& asked);

}  // namespace zero::aio
