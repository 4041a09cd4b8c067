#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "zero/launch/session.hpp"

namespace zero::launch {
namespace {

/// Seconds from the start of the machine to that of the process; negative: unknown.
double started_at() {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is the program's name in brackets and may hold anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  long long ticks = -1;
  fields >> ticks;
  return fields ? double(ticks) / double(sysconf(_SC_CLK_TCK)) : -1;
}

}  // namespace

std::chrono::steady_clock::time_point process_start() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  timespec since_boot{};
  const double started = started_at();
  if (started < 0 || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return now;
  const std::chrono::duration<double> age(double(since_boot.tv_sec) +
                                          double(since_boot.tv_nsec) * 1e-9 - started);
  return now - std::chrono::duration_cast<Clock::duration>(age);
}

}  // namespace zero::launch
