#pragma once

#include <memory>

#include "zero/device/stream.hpp"

namespace zero {

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
  /// Of two that have been marked and reached, on any streams of one device.
  double seconds_since(const Moment& earlier) const;

 private:
  struct Mark;
  std::unique_ptr<Mark> mark_;
};

}  // namespace zero
