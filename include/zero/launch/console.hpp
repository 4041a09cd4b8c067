#pragma once

#include <string>

namespace zero::launch {

/// Opens the file descriptors 0, 1 and 2 of this process if they are closed, so no later file
/// receives console output. Writes to a descriptor that is opened here fail, as to a closed one.
void occupy_standard_files();

/// The standard output, on which one rank speaks for all. If it is closed or full, that costs one
/// warning and training goes on.
class Console {
 public:
  /// Makes a silent console unless this rank `speaks`.
  explicit Console(bool speaks) : speaks_(speaks) {}

  /// Prints `text`, whole lines, which people can read when say() returns. Allocates nothing.
  void say(const std::string& text);

 private:
  bool speaks_, warned_ = false;
};

}  // namespace zero::launch
