#pragma once

#include <string>

namespace zero::launch {

/// Standard output, where one rank speaks for all. A closed or full one costs one warning and no
/// training.
class Console {
 public:
  /// Says nothing unless this rank `speaks`.
  explicit Console(bool speaks) : speaks_(speaks) {}

  /// Whole lines, which are there for people to read on return. Allocates nothing.
  void say(const std::string& text);

 private:
  bool speaks_, warned_ = false;
};

}  // namespace zero::launch
