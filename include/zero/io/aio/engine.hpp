#pragma once
/// What moves blocks between memory and files in the background. An engine reports what the kernel
/// said and judges nothing; AioQueue is what the rest of the program uses.

#include <cstddef>
#include <cstdint>
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

/// Both behind make_engine(). The first is null with the reason in `why` where the kernel, its
/// limits or the build lack io_uring.
std::unique_ptr<Engine> make_uring_engine(const EngineOptions& options, std::string& why);
std::unique_ptr<Engine> make_thread_engine(const EngineOptions& options);

}  // namespace zero::aio
