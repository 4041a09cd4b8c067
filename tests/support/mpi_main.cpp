// main() of every test program: starts MPI and Kokkos, prints from rank 0, and makes one rank's
// failure every rank's failure, so that the launcher reports it whichever rank it happened on.

#include <gtest/gtest.h>
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <cstdio>

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

int run_tests(int argc, char** argv, int rank) {
  if (!zero::testing::has_device()) return 1;
  Kokkos::ScopeGuard kokkos(argc, argv);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
  }
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
