#pragma once

#include <cstdint>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero::monitor {

/// A file of a run with a line for each step, or for each step with news. A full disk costs one
/// warning and no training.
class StepLines {
 public:
  /// Keeps the lines of an earlier launch up to step `done`. Throws Error(kIo).
  StepLines(const std::string& folder, const char* name, int64_t done);

  /// Appends `line`. REQUIRES: it ends with a newline.
  void add(const std::string& line);
  /// Returns the last step of the earlier launch's lines, or 0; earlier_seconds() sums their
  /// step_ms.
  int64_t earlier_step() const { return earlier_step_; }
  double earlier_seconds() const { return earlier_seconds_; }

 private:
  void read_earlier(const std::string& path, int64_t done);
  bool cut();

  const char* name_;
  OpenFile file_;
  int64_t bytes_ = 0;  ///< bytes of whole lines
  int64_t earlier_step_ = 0;
  double earlier_seconds_ = 0;
  bool warned_ = false;
};

}  // namespace zero::monitor
