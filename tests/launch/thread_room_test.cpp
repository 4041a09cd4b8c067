// Ranks: 1

#include "zero/launch/thread_room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "zero/base/error.hpp"

namespace zero::launch {
namespace {

using ::testing::HasSubstr;

Variable environment(const std::map<std::string, std::string>& values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

/// The words that `work` is refused with, as a mistake of the user's.
template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "";
}

std::string refusal_of(const std::map<std::string, std::string>& values, int64_t threads) {
  return refusal([&] { require_kokkos_variables(environment(values), threads); });
}

TEST(ThreadRoom, ReadsWhatOpenMpIsAskedFor) {
  EXPECT_EQ(threads_asked(environment({})), 0);
  EXPECT_EQ(threads_asked(environment({{"OMP_NUM_THREADS", "4"}})), 4);
  EXPECT_EQ(threads_asked(environment({{"OMP_NUM_THREADS", " 4 , 2"}})), 4);
  EXPECT_EQ(threads_asked(environment({{"OMP_NUM_THREADS", "512"}})), 512);
}

TEST(ThreadRoom, RefusesWhatNoRankTakes) {
  for (const char* value : {"0", "-3", "513", "4096", "99999999999999999999", "x", "", "4x"}) {
    const std::string words = refusal([&] {
      threads_asked(environment({{"OMP_NUM_THREADS", value}}));
    });
    EXPECT_THAT(words, HasSubstr("a rank takes 1 to 512 threads")) << value;
  }
}

TEST(ThreadRoom, LetsKokkosSeeWhatItUnderstands) {
  EXPECT_EQ(refusal_of({}, 2), "");
  EXPECT_EQ(refusal_of({{"KOKKOS_NUM_THREADS", "2"},
                        {"KOKKOS_DISABLE_WARNINGS", "Yes"},
                        {"KOKKOS_DEVICE_ID", "0"},
                        {"KOKKOS_MAP_DEVICE_ID_BY", "random"}},
                       2),
            "");
}

TEST(ThreadRoom, RefusesWhatKokkosWouldEndTheProgramFor) {
  for (const char* value : {"0", "-1", "x", "", "99999999999"}) {
    EXPECT_THAT(refusal_of({{"KOKKOS_NUM_THREADS", value}}, 2), HasSubstr("is no number from 1"));
  }
  EXPECT_THAT(refusal_of({{"KOKKOS_NUM_THREADS", "4"}}, 2), HasSubstr("has 2 threads"));
  EXPECT_THAT(refusal_of({{"KOKKOS_DEVICE_ID", "-9"}}, 2), HasSubstr("is no number from 0"));
  EXPECT_THAT(refusal_of({{"KOKKOS_PRINT_CONFIGURATION", "x"}}, 2), HasSubstr("true nor false"));
  EXPECT_THAT(refusal_of({{"KOKKOS_MAP_DEVICE_ID_BY", "x"}}, 2), HasSubstr("mpi_rank nor random"));
}

TEST(ThreadRoom, TriesThreadsThatThereAre) { EXPECT_NO_THROW(ThreadTrial(4)); }

/// Whether a refused thread is told in a process of its own, whose limit of address space leaves no
/// room for stacks.
void expect_refusal(void (*try_threads)()) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1, 1};
    int status = setrlimit(RLIMIT_AS, &limit) == 0 ? 1 : 2;
    try {
      try_threads();
    } catch (const Error& error) {
      const bool names = std::string(error.what()).find("ulimit -u") != std::string::npos;
      if (error.exit() == Exit::kDoesNotFit && names) status = 0;
    } catch (...) {
      status = 3;
    }
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadRoom, NamesTheLimitsWhereAThreadIsRefused) {
  expect_refusal([] { const ThreadTrial trial(64); });
}

TEST(ThreadRoom, AsksForTheThreadsOfMpiBeforeItDoes) {
  EXPECT_NO_THROW(require_threads_of_mpi());
  expect_refusal([] {
    // Stacks of earlier threads are kept for the next ones.
    try {
      for (;;) std::thread([] { pause(); }).detach();
    } catch (const std::system_error&) {
      require_threads_of_mpi();
    }
  });
}

}  // namespace
}  // namespace zero::launch
