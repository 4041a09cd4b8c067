#include <cerrno>
#include <cstdio>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/launch/files.hpp"

namespace zero::launch {

void Console::say(const std::string& text) {
  if (!speaks_) return;
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
  std::clearerr(stdout);
  if (warned_) return;
  warned_ = true;
  warn("standard output: ", std::strerror(errno), "; training goes on");
}

}  // namespace zero::launch
