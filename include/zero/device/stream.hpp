#pragma once

#include <cstdint>
#include <memory>

namespace zero {

/// Where a block of memory lies, or a stream's kernels run. On a host build all are the host.
enum class Place : uint8_t {
  host,
  pinned,  ///< host memory that the device reaches and copies to and from without a detour
  device,  ///< not to be touched by the host, see zero/device/copy.hpp
};

/// A device starts kernels of a stream of high priority first, if several streams have some ready.
enum class Priority : uint8_t {
  normal,
  high,  ///< before those of normal streams, whose blocks that run are not stopped
};

/// An ordered queue of work on this rank's device. Whatever takes a Stream is asynchronous: it is
/// done when work queued after it runs, or when wait() returns; nothing may assume that it is done
/// when its call returns, though on the host back end it is.
///
/// On the host a stream is a Kokkos OpenMP instance with its own number of threads; on a GPU a CUDA
/// stream, which does not wait for the default one. Streams may be used from different threads at
/// once; one stream serves one thread at a time.
///
/// A stream of Place::host serves work that the host does beside its device, on memory that the
/// host reaches. Kernels that say so wait there for what is queued and run on the host's threads.
/// All others refuse it where there is a device.
class Stream {
 public:
  /// `threads` >= 1; `place` is the device or the host; Kokkos must be running. Throws
  /// Error(kInternal) otherwise. The host knows no priority.
  explicit Stream(int threads, Place place = Place::device, Priority priority = Priority::normal);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int threads() const;
  /// Whether it was made for the host's own work.
  bool is_of_host() const;
  /// Returns when all work queued so far is done.
  void wait();

  /// The back end's own handle; defined in include/zero/device/space.hpp, which kernels include.
  struct Handle;
  Handle& handle() const { return *handle_; }

 private:
  std::unique_ptr<Handle> handle_;
};

/// Tells the calling thread's vendor libraries (OpenMP, oneDNN) to use stream.threads() threads,
/// and its CUDA to use this process's device. A lane calls it once, before its first kernel.
void adopt_threads(const Stream& stream);

/// A mark in a stream's queue, for another stream to wait at without the host. Made once and used
/// again and again; marks and waits of one event are ordered by its user.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Marks the end of all that is queued on `stream` now; an earlier mark is forgotten.
  void record(Stream& stream);
  /// What is queued on `stream` from now on runs after the work before the mark. Where nothing has
  /// been recorded there is nothing to wait for. Returns at once.
  void hold(Stream& stream) const;
  /// Returns when the work before the mark is done.
  void wait() const;

 private:
  struct Mark;
  std::unique_ptr<Mark> mark_;
};

/// A mark in a stream's queue that the host reads: whether the work before it is done, and when it
/// was. Made once and used again and again.
class Moment {
 public:
  Moment();
  ~Moment();
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

  /// Marks the end of all that is queued on `stream` now; an earlier mark is forgotten.
  void mark(Stream& stream);
  /// Whether the work before the mark is done; so it is where nothing has been marked.
  bool reached() const;
  /// Returns when it is. Sleeps meanwhile.
  void wait() const;
  /// Both have been marked and reached, on any streams of one device.
  double seconds_since(const Moment& earlier) const;

 private:
  struct Mark;
  std::unique_ptr<Mark> mark_;
};

/// Work of one stream that is recorded once and from then on queued as a whole: a CUDA graph. The
/// addresses and numbers that its kernels were given stay; what lies at the addresses is read anew.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Whether this build's streams can be recorded: a host's kernels have run when they are called.
  static bool is_possible();

  bool is_made() const;
  /// What `work()` queues on `stream`, and on no other, is kept here and not run. It may neither
  /// wait nor take memory, so every kernel and library must have done the same work before.
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
  /// Asynchronous. Only where is_made().
  void queue(Stream& stream) const;

 private:
  void begin(Stream& stream);
  void end(Stream& stream);
  void abandon(Stream& stream) noexcept;

  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace zero
