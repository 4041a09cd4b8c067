// main() of every test program: starts MPI and Kokkos, prints from rank 0, and makes one rank's
// failure every rank's failure, so that the launcher reports it whichever rank it happened on.

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/support/device_memory.hpp"

namespace {

/// Prints failed checks of ranks other than 0, which have no other printer.
class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d] %s:%d\n%s\n", rank_, result.file_name(), result.line_number(),
                 result.summary());
  }

 private:
  int rank_;
};

/// Ends a rank whose test case takes longer than ZERO_TEST_CASE_SECONDS, since ranks that wait for
/// each other would do so until ctest's limit.
class CaseLimit : public testing::EmptyTestEventListener {
 public:
  explicit CaseLimit(unsigned seconds) : seconds_(seconds) { std::signal(SIGALRM, tell); }
  void OnTestStart(const testing::TestInfo&) override { alarm(seconds_); }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }

 private:
  static void tell(int) {
    constexpr char kWords[] = "a test case takes longer than ZERO_TEST_CASE_SECONDS\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWords, sizeof kWords - 1);
    _exit(1);
  }

  unsigned seconds_;
};

int run_tests(int argc, char** argv, int rank) {
  if (!zero::testing::has_device()) return 1;
  Kokkos::ScopeGuard kokkos(argc, argv);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
  }
  if (const char* seconds = std::getenv("ZERO_TEST_CASE_SECONDS"))
    listeners.Append(new CaseLimit(unsigned(std::atoi(seconds))));
  const int failed =
      zero::testing::with_shared_memory([](void*) { return RUN_ALL_TESTS(); }, nullptr);
  // Known only now: the filter acts when the tests run.
  const bool ran_none = ::testing::UnitTest::GetInstance()->test_to_run_count() == 0;
  return failed != 0 || ran_none;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int failed = run_tests(argc, argv, rank);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  // The word that ctest goes by: Open MPI's launcher now and then returns 1 after a clean run.
  if (rank == 0 && !failed) std::puts("all ranks passed");
  std::fflush(stdout);
  MPI_Finalize();
  return failed;
}
