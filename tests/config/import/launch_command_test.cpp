// Ranks: 1

#include "src/config/import/launch_command.hpp"

#include "tests/config/import/import_words.hpp"
#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

DeepSpeedImport import(const Words& words) {
  const testing_support::TempFile file("ds.json", "{}");
  return import_deepspeed(file.path(), {.launch_line = words});
}

std::string command(const Words& words) {
  const DeepSpeedImport made = import(words);
  EXPECT_THAT(made.refused, IsEmpty());
  const std::string begin = "launch: mpirun --mca odls_base_sigkill_timeout 2 ";
  const std::string last = made.report.back();
  return last.starts_with(begin) ? last.substr(begin.size()) : last;
}

TEST(LaunchCommand, StartsARankForEachGpuThatIsIncluded) {
  EXPECT_EQ(command({"deepspeed", "--include", "localhost:0,1,3", "a.py"}),
            "-x CUDA_VISIBLE_DEVICES=0,1,3 -n 3 ./zeroapp INPUT.toml");
  EXPECT_EQ(command({"deepspeed", "-i", "localhost:0,1", "a.py"}), "-n 2 ./zeroapp INPUT.toml");
  EXPECT_EQ(command({"deepspeed", "--include=node1:2,3@node2:2,3", "a.py"}),
            "-x CUDA_VISIBLE_DEVICES=2,3 -n 4 --host node1:2,node2:2 ./zeroapp INPUT.toml");
}

TEST(LaunchCommand, FollowsAcceleratesFiltersWhereDeepSpeedsLauncherStartsTheRanks) {
  const auto launch = [](const Words& flags) {
    Words words = {"accelerate", "launch", "--num_processes", "8"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.push_back("a.py");
    return words;
  };
  const char *include = "--deepspeed_inclusion_filter=a:0@b:0", *machines = "--num_machines=2",
             *exclude = "--deepspeed_exclusion_filter=a:0",
             *standard = "--deepspeed_multinode_launcher=standard";
  EXPECT_EQ(command(launch({machines, include})), "-n 2 --host a:1,b:1 ./zeroapp INPUT.toml");
  EXPECT_EQ(command(launch({include})), "-n 8 ./zeroapp INPUT.toml");
  EXPECT_EQ(command(launch({include, exclude})), "-n 8 ./zeroapp INPUT.toml");
  EXPECT_EQ(command(launch({machines, include, standard})),
            "-n 8 --map-by ppr:4:node ./zeroapp INPUT.toml");
  const Words excluded = launch({machines, include, exclude});
  EXPECT_EQ(command(excluded), "-n RANKS ./zeroapp INPUT.toml");
  EXPECT_THAT(import(excluded).report,
              Contains(HasSubstr("--deepspeed_exclusion_filter = \"a:0\": needs the number")));
}

TEST(LaunchCommand, UsesTheGpusThatAccelerateIsToUse) {
  EXPECT_EQ(command({"accelerate", "launch", "--num_processes", "2", "--gpu_ids", "1,3", "a.py"}),
            "-x CUDA_VISIBLE_DEVICES=1,3 -n 2 ./zeroapp INPUT.toml");
  EXPECT_EQ(command({"accelerate", "launch", "--num_processes", "2", "--gpu_ids", "all", "a.py"}),
            "-n 2 ./zeroapp INPUT.toml");
}

TEST(LaunchCommand, PassesIdentifiersOfGpusThroughAndRefusesOtherWords) {
  const auto launch = [](const std::string& gpus) {
    return Words{"accelerate", "launch", "--num_processes", "2", "--gpu_ids", gpus, "a.py"};
  };
  EXPECT_EQ(command(launch("GPU-1,GPU-2")),
            "-x CUDA_VISIBLE_DEVICES=GPU-1,GPU-2 -n 2 ./zeroapp INPUT.toml");
  EXPECT_EQ(command({"accelerate", "launch", "--num_processes", "0", "--gpu_ids", "3", "a.py"}),
            "-x CUDA_VISIBLE_DEVICES=3 -n RANKS ./zeroapp INPUT.toml");
  for (const char* gpus : {"0,0", "-1", "GPU-1,GPU-1", "GPU-", "GPU-1,2", "GPU-1;ls", "0,,1"}) {
    EXPECT_THAT(import(launch(gpus)).refused,
                ElementsAre(HasSubstr("--gpu_ids: is no list of GPUs, each once; write it as 0,1,3 "
                                      "or GPU-UUID,GPU-UUID, or write all")))
        << gpus;
  }
}

TEST(LaunchCommand, TakesAnEmptyFilterForNone) {
  EXPECT_EQ(command({"deepspeed", "--include=", "--exclude=", "--num_gpus", "4", "a.py"}),
            "-n 4 ./zeroapp INPUT.toml");
  EXPECT_EQ(command({"deepspeed", "--include", "localhost:0,1", "--exclude=", "a.py"}),
            "-n 2 ./zeroapp INPUT.toml");
  EXPECT_EQ(command({"accelerate", "launch", "--num_processes", "8", "--num_machines", "2",
                     "--deepspeed_inclusion_filter=", "--deepspeed_exclusion_filter=", "a.py"}),
            "-n 8 --map-by ppr:4:node ./zeroapp INPUT.toml");
}

TEST(LaunchCommand, AsksForRanksThatALauncherCountsItself) {
  const Words launches[] = {{"deepspeed", "--include", "node1@node2:0", "a.py"},
                            {"deepspeed", "--exclude", "localhost:1", "a.py"},
                            {"deepspeed", "--hostfile", "hosts", "a.py"}};
  for (const Words& words : launches) {
    EXPECT_EQ(command(words), "-n RANKS ./zeroapp INPUT.toml") << words[1];
    EXPECT_THAT(import(words).report, Contains(HasSubstr("needs the number of ranks"))) << words[1];
  }
}

TEST(LaunchCommand, RefusesAFilterThatItCannotStart) {
  const auto refused = [](const Words& words) { return import(words).refused; };
  for (const char* filter : {"localhost:", "localhost:0,0", "localhost:a", "@", "a b:0", "x:1;ls:2",
                             "localhost:-1", "-x:0"}) {
    EXPECT_THAT(refused({"deepspeed", text("--include=", filter), "a.py"}),
                ElementsAre(HasSubstr("write it as localhost:0,1,3 or node1:0,1@node2:0,1")))
        << filter;
  }
  EXPECT_THAT(refused({"deepspeed", "--include", "a:0@b:1", "x.py"}),
              ElementsAre(HasSubstr("chooses other GPUs on each host")));
  EXPECT_THAT(refused({"deepspeed", "--include", "a:0@b:0@a:1", "x.py"}),
              ElementsAre("launch line: --include: names a twice; write all of its GPUs once, as "
                          "a:0,1"));
  EXPECT_THAT(refused({"deepspeed", "--num_gpus", "4", "--exclude", "localhost:1", "x.py"}),
              ElementsAre("launch line: --exclude: DeepSpeed refuses it beside --num_gpus; keep "
                          "one"));
  EXPECT_THAT(refused({"deepspeed", "--include", "a:0", "--num_gpus", "1", "x.py"}),
              ElementsAre("launch line: --include: DeepSpeed refuses it beside --num_gpus; keep "
                          "one"));
}

TEST(LaunchCommand, RefusesProcessesThatMachinesCannotShare) {
  const auto refused = [](const char* processes, const char* machines) {
    return import({"accelerate", "launch", "--num_machines", machines, "--num_processes", processes,
                   "a.py"})
        .refused;
  };
  EXPECT_THAT(refused("7", "2"),
              ElementsAre("launch line: --num_processes: 7 cannot be shared out evenly over 2 "
                          "machines; write 6 or 8"));
  EXPECT_THAT(refused("1", "2"), ElementsAre(HasSubstr("evenly over 2 machines; write 2")));
  EXPECT_THAT(refused("8", "2"), IsEmpty());
}

}  // namespace
}  // namespace zero
