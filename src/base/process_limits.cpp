#include "zero/base/process_limits.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace zero {

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

int64_t process_limit(int resource) {
  rlimit limit{};
  const bool known = getrlimit(__rlimit_resource_t(resource), &limit) == 0;
  if (!known || limit.rlim_cur == RLIM_INFINITY) return -1;
  return int64_t(std::min<rlim_t>(limit.rlim_cur, rlim_t(INT64_MAX)));
}

int64_t group_memory_limit(const std::string& root, std::string group) {
  int64_t least = -1;
  while (true) {
    std::ifstream file(root + group + "/memory.max");
    int64_t limit = 0;  // "max" is no number
    if (file >> limit && (least < 0 || limit < least)) least = limit;
    if (group.empty()) return least;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

int64_t group_memory_limit() {
  constexpr const char* kUnified = "0::";
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with(kUnified)) return group_memory_limit("/sys/fs/cgroup", line.substr(3));
  }
  return -1;
}

namespace {

bool would_take(int64_t bytes, int protection) {
  void* const place =
      mmap(nullptr, size_t(bytes), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return false;
  munmap(place, size_t(bytes));
  return true;
}

}  // namespace

bool would_get(int64_t bytes) { return would_take(bytes, PROT_READ | PROT_WRITE); }
bool would_map(int64_t bytes) { return would_take(bytes, PROT_NONE); }

}  // namespace zero
