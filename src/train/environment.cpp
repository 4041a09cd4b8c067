#include <unistd.h>

#include <cstdlib>

#include "zero/train/session.hpp"

namespace zero::train {

void prepare_environment(char** argv) {
  const bool ready = std::getenv("OMP_WAIT_POLICY") && std::getenv("OMP_PROC_BIND");
  if (ready) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
  setenv("OMP_PROC_BIND", "false", 0);
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) return;
  path[length] = '\0';
  // On success this does not return; on failure the program goes on, only slower.
  execv(path, argv);
}

}  // namespace zero::train
