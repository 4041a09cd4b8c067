// Ranks: 1
#include "zero/launch/launch.hpp"

#include <gtest/gtest.h>

#include <map>

#include "zero/base/error.hpp"
#include "zero/launch/failure.hpp"

namespace zero::launch {
namespace {

Launch launch_in(const std::map<std::string, std::string>& environment) {
  return launch_of([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, CountsTheTasksOfAStepThatSrunStarted) {
  const Launch launch =
      launch_in({{"SLURM_PROCID", "3"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "32"}});
  EXPECT_EQ(launch.tasks, 32);
  EXPECT_EQ(launch.task, 3);
  EXPECT_EQ(launch.hint, "use srun --mpi=pmix");
}

TEST(Launch, TasksWithoutAWayToEachOtherAreRefusedOnceForAll) {
  std::map<std::string, std::string> environment = {
      {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  try {
    require_joined_launch(launch_in(environment));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    EXPECT_STREQ(error.what(), "started as 4 tasks that MPI cannot join: use srun --mpi=pmix");
  }
  environment["SLURM_PROCID"] = "1";
  EXPECT_THROW(require_joined_launch(launch_in(environment)), Ended);
  environment["PMIX_NAMESPACE"] = "slurm.pmix.7.0";
  require_joined_launch(launch_in(environment));
}

TEST(Launch, KnowsWhereOneNodeHoldsAllTasks) {
  std::map<std::string, std::string> mpirun = {{"OMPI_COMM_WORLD_SIZE", "4"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  EXPECT_TRUE(launch_in(mpirun).one_node);
  mpirun["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_FALSE(launch_in(mpirun).one_node);
  std::map<std::string, std::string> srun = {{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_FALSE(launch_in(srun).one_node) << "nothing says so";
  srun["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_TRUE(launch_in(srun).one_node);
  srun["SLURM_STEP_NUM_NODES"] = "2";
  EXPECT_FALSE(launch_in(srun).one_node);
}

TEST(Launch, ABatchScriptIsNoLauncher) {
  EXPECT_EQ(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "32"}}).tasks, 0);
  EXPECT_EQ(launch_in({}).tasks, 0);
}

TEST(Launch, MpirunInsideAnAllocationCountsItsOwnRanks) {
  const Launch launch = launch_in({{"OMPI_COMM_WORLD_SIZE", "4"},
                                   {"OMPI_COMM_WORLD_RANK", "2"},
                                   {"SLURM_PROCID", "0"},
                                   {"SLURM_STEP_ID", "0"},
                                   {"SLURM_STEP_NUM_TASKS", "8"}});
  EXPECT_EQ(launch.tasks, 4);
  EXPECT_EQ(launch.task, 2);
  EXPECT_TRUE(launch.turns_interrupts);
}

TEST(Launch, SeesTheLauncherOfAnotherMpi) {
  EXPECT_EQ(launch_in({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}).tasks, 2);
}

}  // namespace
}  // namespace zero::launch
