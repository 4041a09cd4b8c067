#pragma once

#include <cstdint>
#include <memory>

namespace zero {

/// The place where a block of memory lies or a stream's kernels run. On a host build all are the
/// host.
enum class Place : uint8_t {
  host,
  pinned,  ///< host memory that the device addresses and copies without a detour
  device,  ///< not for the host to touch, see zero/device/copy.hpp
};

/// A device starts ready kernels of high-priority streams first.
enum class Priority : uint8_t {
  normal,
  high,  ///< before normal streams, but running blocks are not stopped
};

/// An ordered queue of work on this rank's device. Functions that take a Stream are asynchronous:
/// their work is done when work queued later runs, or when wait() returns. No caller may assume
/// that it is done when the function returns, although the host back end works that way.
///
/// On the host a stream is a Kokkos OpenMP instance with its own number of threads. On a GPU it is
/// a CUDA stream that does not wait for the default stream. Different threads may use different
/// streams at once. Only one thread at a time may use a stream.
///
/// A stream of Place::host serves work that the host does beside its device, on memory that the
/// host reaches. Kernels that allow it wait there for queued work and run on the host's threads.
/// All other kernels refuse it if there is a device.
class Stream {
 public:
  /// Makes a stream on the device, or of `threads` host threads. REQUIRES: threads >= 1; `place` is
  /// device or host; Kokkos runs. Throws Error(kInternal) otherwise. The host ignores `priority`.
  explicit Stream(int threads, Place place = Place::device, Priority priority = Priority::normal);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int threads() const;
  /// True if this stream has Place::host.
  bool is_of_host() const;
  /// Blocks until all work queued on this stream so far is done.
  void wait();

  /// The back end's handle, defined in zero/device/space.hpp for kernels.
  struct Handle;
  Handle& handle() const { return *handle_; }

 private:
  std::unique_ptr<Handle> handle_;
};

/// Tells the calling thread's vendor libraries (OpenMP, oneDNN) to use stream.threads() threads,
/// and its CUDA to use this process's device. A lane calls it once, before its first kernel.
void adopt_threads(const Stream& stream);

/// A mark in a stream's queue at which another stream waits without the host. Made once and reused.
/// The user orders marks and waits of an event.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Marks the end of all work queued on `stream` now. Forgets an earlier mark.
  void record(Stream& stream);
  /// Makes work that is queued on `stream` from now on wait for the work before the mark. Does
  /// nothing if there is no mark. Returns at once.
  void hold(Stream& stream) const;
  /// Blocks until the work before the mark is done.
  void wait() const;

 private:
  struct Mark;
  std::unique_ptr<Mark> mark_;
};

/// A mark in a stream's queue that tells the host if and when the work before it was done. Made
/// once and reused.
class Moment {
 public:
  Moment();
  ~Moment();
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

  /// Marks the end of all work queued on `stream` now. Forgets an earlier mark.
  void mark(Stream& stream);
  /// True if the work before the mark is done, or if there is no mark.
  bool reached() const;
  /// Blocks until the work before the mark is done. Sleeps meanwhile.
  void wait() const;
  /// Returns the seconds from the moment `earlier` to this one. REQUIRES: both are marked and
  /// reached, on streams of one device.
  double seconds_since(const Moment& earlier) const;

 private:
  struct Mark;
  std::unique_ptr<Mark> mark_;
};

/// Work of one stream that is recorded once and then queued as a whole: a CUDA graph. Kernels keep
/// their recorded addresses and numbers, and read the memory at these addresses anew.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// True if this build can record streams. A host build cannot, because its kernels run when they
  /// are called.
  static bool is_possible();

  /// True if make() has recorded work.
  bool is_made() const;
  /// Records the work that `work()` queues on `stream`, and does not run it. REQUIRES: `work` uses
  /// no other stream, waits for nothing and takes no memory, so every kernel and library has done
  /// the same work before.
  template <class Work>
  void make(Stream& stream, const Work& work) {
    begin(stream);
    try {
      work();
    } catch (...) {
      abandon(stream);
      throw;
    }
    end(stream);
  }
  /// Queues this recorded work once. Asynchronous on `stream`. REQUIRES: is_made().
  void queue(Stream& stream) const;

 private:
  void begin(Stream& stream);
  void end(Stream& stream);
  void abandon(Stream& stream) noexcept;

  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace zero
