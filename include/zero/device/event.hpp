#pragma once

#include <memory>

#include "zero/device/stream.hpp"

namespace zero {

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

}  // namespace zero
