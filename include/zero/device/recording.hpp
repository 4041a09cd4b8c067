#pragma once

#include <memory>

#include "zero/device/stream.hpp"

namespace zero {

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
