#include "zero/launch/launch.hpp"

#include <cstdlib>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/launch/failure.hpp"

namespace zero::launch {
namespace {

using Variable = std::function<const char*(const char*)>;

int64_t number(const Variable& variable, const char* name) {
  const char* value = variable(name);
  return value ? std::atoll(value) : 0;
}

}  // namespace

Launch launch_of(const Variable& variable) {
  if (variable("OMPI_COMM_WORLD_SIZE")) {
    return {.tasks = number(variable, "OMPI_COMM_WORLD_SIZE"),
            .task = number(variable, "OMPI_COMM_WORLD_RANK"),
            .hint = "start it with the mpirun of the MPI it was built with",
            .turns_interrupts = true,
            .one_node = number(variable, "OMPI_COMM_WORLD_LOCAL_SIZE") ==
                        number(variable, "OMPI_COMM_WORLD_SIZE")};
  }
  // Inside a batch script, and under an mpirun that srun has started, only some of these are set.
  if (variable("SLURM_PROCID") && variable("SLURM_STEP_ID")) {
    const int64_t step = number(variable, "SLURM_STEP_NUM_TASKS");
    return {.tasks = step ? step : number(variable, "SLURM_NTASKS"),
            .task = number(variable, "SLURM_PROCID"),
            .hint = "use srun --mpi=pmix",
            .joined = variable("PMIX_NAMESPACE") || variable("PMI_FD"),
            .one_node = number(variable, "SLURM_STEP_NUM_NODES") == 1};
  }
  if (variable("PMI_SIZE")) {
    return {number(variable, "PMI_SIZE"), number(variable, "PMI_RANK"),
            "start it with the mpirun of the MPI it was built with"};
  }
  return {};
}

Launch current_launch() {
  return launch_of([](const char* name) { return std::getenv(name); });
}

void require_joined_launch(const Launch& launch) {
  if (launch.tasks <= 1 || launch.joined) return;
  if (launch.task > 0) throw Ended{Exit::kUsage};
  refuse(Exit::kUsage, "started as ", launch.tasks, " tasks that MPI cannot join: ", launch.hint);
}

}  // namespace zero::launch
