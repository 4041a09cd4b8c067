#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::aio {
namespace {

/// Most bytes of one registered buffer: the kernel's own limit.
constexpr int64_t kBufferBytes = int64_t(1) << 30;
constexpr unsigned kFiles = 64;
/// Results wait for a call and do not interrupt the program; since Linux 5.19.
constexpr unsigned kUninterrupted = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
/// Most attempts at which an idle kernel takes nothing. Pauses before them begin with kFirstPause
/// and double: one second in all.
constexpr int kMostStalls = 10;
constexpr std::chrono::milliseconds kFirstPause{1};

std::string reason(int error) { return text(std::strerror(error), " (errno ", error, ")"); }

class UringEngine final : public Engine {
 public:
  UringEngine(const io_uring& ring, int depth) : ring_(ring), depth_(depth) {
    unsent_.reserve(size_t(depth));
    early_.reserve(size_t(depth));
  }
  ~UringEngine() override { io_uring_queue_exit(&ring_); }
  UringEngine(const UringEngine&) = delete;
  UringEngine& operator=(const UringEngine&) = delete;

  std::string_view name() const override { return "io_uring"; }
  int depth() const override { return depth_; }

  void start(const Block& block, uint64_t tag) override {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    ZERO_REQUIRE(entry != nullptr, "more than ", depth_, " blocks in flight");
    prepare(*entry, block);
    const int file = registered_file(block.file);
    if (file >= 0) {
      entry->fd = file;
      entry->flags |= IOSQE_FIXED_FILE;
    }
    io_uring_sqe_set_data64(entry, tag);
    unsent_.push_back(tag);
  }

  void flush() override {
    while (!unsent_.empty()) {
      const int status = io_uring_submit(&ring_);
      note_sent();
      if (status <= 0 && !may_take_more(status)) take_back(status);
    }
  }

  void reap(bool wait, std::vector<Completion>& completed) override {
    const bool waits = wait && early_.empty() && in_kernel_ > 0;
    completed.insert(completed.end(), early_.begin(), early_.end());
    early_.clear();
    if (waits) wait_for_one();
    collect(completed);
  }

  std::string register_memory(std::span<std::byte> memory) override {
    std::vector<iovec> parts;
    for (size_t at = 0; at < memory.size(); at += size_t(kBufferBytes)) {
      parts.push_back({memory.data() + at, std::min(memory.size() - at, size_t(kBufferBytes))});
    }
    if (parts.empty()) return "";
    const int status = io_uring_register_buffers(&ring_, parts.data(), unsigned(parts.size()));
    if (status == 0) memory_ = memory;
    if (status == 0) return "";
    return text("io_uring works without registered memory, which is slower: ", reason(-status),
                "; raise the limit of locked memory (ulimit -l)");
  }

  void register_files() { has_files_ = io_uring_register_files_sparse(&ring_, kFiles) == 0; }

 private:
  void prepare(io_uring_sqe& entry, const Block& block) const {
    const unsigned bytes = unsigned(block.bytes);
    const uint64_t offset = uint64_t(block.offset);
    const int buffer = registered_buffer(block);
    const bool reads = block.direction == Direction::read;
    if (buffer >= 0 && reads) {
      io_uring_prep_read_fixed(&entry, block.file, block.memory, bytes, offset, buffer);
    } else if (buffer >= 0) {
      io_uring_prep_write_fixed(&entry, block.file, block.memory, bytes, offset, buffer);
    } else if (reads) {
      io_uring_prep_read(&entry, block.file, block.memory, bytes, offset);
    } else {
      io_uring_prep_write(&entry, block.file, block.memory, bytes, offset);
    }
  }

  /// Returns the registered buffer that holds all of the block, or -1.
  int registered_buffer(const Block& block) const {
    const int64_t first = block.memory - memory_.data(), last = first + block.bytes - 1;
    if (memory_.empty() || first < 0 || last >= int64_t(memory_.size())) return -1;
    return first / kBufferBytes == last / kBufferBytes ? int(first / kBufferBytes) : -1;
  }

  int registered_file(int descriptor) {
    if (!has_files_) return -1;
    const auto known = std::find(files_.begin(), files_.end(), descriptor);
    if (known != files_.end()) return int(known - files_.begin());
    if (files_.size() == kFiles) return -1;
    const unsigned place = unsigned(files_.size());
    if (io_uring_register_files_update(&ring_, place, &descriptor, 1) != 1) return -1;
    files_.push_back(descriptor);
    return int(place);
  }

  /// Counts the blocks that the kernel has taken, maybe only the first few, and drops their tags.
  void note_sent() {
    const size_t left = io_uring_sq_ready(&ring_), sent = unsent_.size() - left;
    unsent_.erase(unsent_.begin(), unsent_.begin() + int64_t(sent));
    in_kernel_ += int(sent);
    if (sent > 0) stalls_ = 0;
  }

  /// True if the kernel may take more after a call that sent nothing. Waits for a result if blocks
  /// are in the kernel; else only time can help, so pauses.
  bool may_take_more(int status) {
    const bool passes = status == 0 || status == -EINTR || status == -EAGAIN || status == -EBUSY;
    if (!passes || (in_kernel_ == 0 && stalls_ == kMostStalls)) return false;
    if (in_kernel_ > 0) {
      wait_for_one();
      collect(early_);
    } else {
      std::this_thread::sleep_for(kFirstPause * (1 << stalls_++));
    }
    return true;
  }

  /// Ends the blocks that the kernel refuses with its error, because a caller waits for them. The
  /// kernel reads the ring only in calls, so the tail may move back between them.
  void take_back(int status) {
    ring_.sq.sqe_head = ring_.sq.sqe_tail = *ring_.sq.ktail = *ring_.sq.khead;
    for (uint64_t tag : unsent_) early_.push_back({tag, status == 0 ? -EAGAIN : status});
    unsent_.clear();
  }

  void collect(std::vector<Completion>& completed) {
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring_, &entry) == 0) {
      completed.push_back({io_uring_cqe_get_data64(entry), entry->res});
      io_uring_cqe_seen(&ring_, entry);
      --in_kernel_;
    }
  }

  void wait_for_one() {
    io_uring_cqe* entry = nullptr;
    int status = -EINTR;
    while (status == -EINTR) status = io_uring_wait_cqe(&ring_, &entry);
    if (status < 0) refuse(Exit::kIo, "io_uring gives no results: ", reason(-status));
  }

  io_uring ring_;
  int depth_;
  std::vector<uint64_t> unsent_;   ///< tags of blocks not yet taken by the kernel
  int in_kernel_ = 0;              ///< blocks in the kernel
  std::vector<Completion> early_;  ///< results for the next reap()
  int stalls_ = 0;                 ///< attempts without progress, in a row
  std::span<std::byte> memory_;
  bool has_files_ = false;
  std::vector<int> files_;  ///< descriptors by place in the kernel's table
};

}  // namespace

std::unique_ptr<Engine> make_uring_engine(const EngineOptions& options, std::string& why) {
  io_uring ring{};
  int status = io_uring_queue_init(unsigned(options.depth), &ring, kUninterrupted);
  if (status == -EINVAL) status = io_uring_queue_init(unsigned(options.depth), &ring, 0);
  if (status < 0) {
    why = "the kernel refuses io_uring: " + reason(-status);
    return nullptr;
  }
  auto engine = std::make_unique<UringEngine>(ring, options.depth);
  engine->register_files();
  why = engine->register_memory(options.memory);
  return engine;
}

}  // namespace zero::aio
