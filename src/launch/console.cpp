#include "zero/launch/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::launch {

void occupy_standard_files() {
  // open() takes the lowest free descriptor, so closed ones are filled from below.
  int file = 0;
  while (file >= 0 && file <= 2) file = open("/dev/null", O_RDONLY);
  if (file > 2) close(file);
}

void Console::say(const std::string& text) {
  if (!speaks_) return;
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
  std::clearerr(stdout);
  if (warned_) return;
  warned_ = true;
  warn("standard output: ", std::strerror(errno), "; training goes on");
}

}  // namespace zero::launch
