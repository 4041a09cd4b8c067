#pragma once

#include <cstdio>

#include "zero/base/error.hpp"

namespace zero {

/// Prints what does not end the program as one line, "zeroapp: warning: ...", on standard error.
/// Says what is the matter and what to do about it, or what is done without asking.
template <class... Parts>
void warn(const Parts&... parts) {
  const std::string line = text("zeroapp: warning: ", parts..., "\n");
  std::fputs(line.c_str(), stderr);
}

}  // namespace zero
