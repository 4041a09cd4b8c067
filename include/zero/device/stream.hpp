#pragma once

#include <memory>

#include "zero/device/place.hpp"

namespace zero {

/// An ordered queue of work on this rank's device. Whatever takes a Stream is asynchronous: it is
/// done when work queued behind it runs, or when wait() returns; nothing may assume that it is done
/// when its call returns, though on the host back end it is.
///
/// On the host a stream is a Kokkos OpenMP instance with its own number of threads; on a GPU a CUDA
/// stream, which does not wait for the default one. Streams may be used from different threads at
/// once; one stream serves one thread at a time.
///
/// A stream of Place::host serves work that the host does beside its device, on memory that the
/// host reaches: kernels that say so wait there for what is queued and run on the host's threads;
/// all others refuse it where there is a device.
class Stream {
 public:
  /// `threads` >= 1; `place` is the device or the host; Kokkos must be running. Throws
  /// Error(kInternal) otherwise.
  explicit Stream(int threads, Place place = Place::device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int threads() const;
  /// Whether it was made for the host's own work.
  bool is_of_host() const;
  /// Returns when all work queued so far is done.
  void wait();

  /// The back end's own handle; defined in src/device/space.hpp, which kernels include.
  struct Handle;
  Handle& handle() const { return *handle_; }

 private:
  std::unique_ptr<Handle> handle_;
};

/// Tells the calling thread's vendor libraries (OpenMP, oneDNN) to use stream.threads() threads,
/// and its CUDA to use this process's device. A lane calls it once, before its first kernel.
void adopt_threads(const Stream& stream);

}  // namespace zero
