#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace zero::launch {

/// The launch as the launcher describes it in the environment.
struct Launch {
  int64_t tasks = 0;              ///< 0: no launcher started this process
  int64_t task = 0;               ///< the number of this task
  std::string hint;               ///< remedy if MPI sees fewer tasks
  bool joined = true;             ///< MPI can find the other tasks; else MPI ends the program
  bool turns_interrupts = false;  ///< Ctrl-C reaches the tasks as SIGTERM
  bool one_node = false;          ///< true if a single node holds all tasks
};
/// Returns the launch by an environment, in which `variable` looks up a variable by its name:
/// getenv.
Launch launch_of(const std::function<const char*(const char*)>& variable);
/// Returns launch_of() for this process's own environment.
Launch current_launch();

/// Refuses a `launch` of tasks that srun started without a way to each other. Throws Error(kUsage)
/// in the first task and Ended in the others, so one of them prints. REQUIRES: MPI has not started.
void require_joined_launch(const Launch& launch);

}  // namespace zero::launch
