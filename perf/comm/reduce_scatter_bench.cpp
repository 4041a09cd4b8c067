// Reduce-scatter of a shard of 4.2 M elements: ours in shared memory (bf16 in, fp32 sum) and MPI's
// own (fp32), in turns. Ends with status 1 if MPI's time is less than five of ours (median), or a
// sum is wrong. Run it as: mpirun -np 2 perf_comm_reduce_scatter [staging bytes]

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "zero/comm/backends.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/stream.hpp"

namespace {

using namespace zero;

constexpr int64_t kNumel = 4'200'000;
constexpr int kPairs = 15;
constexpr double kGoal = 5;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of the slowest rank for one call of `work`, begun together.
double seconds_of(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  work();
  double seconds = now() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

struct Spread {
  double median, min, max;
};

/// The first value is warm-up.
Spread spread_of(std::vector<double> values) {
  values.erase(values.begin());
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

void print(const char* what, const Spread& spread, double scale, const char* unit) {
  std::printf("%-44s %8.2f %s (%.2f to %.2f)\n", what, scale * spread.median, unit,
              scale * spread.min, scale * spread.max);
}

struct Buffers {
  explicit Buffers(int ranks)
      : full16(ranks * kNumel * 2), full32(ranks * kNumel * 4), shard(kNumel * 4), mpi(kNumel * 4) {
    auto* const half = reinterpret_cast<bf16*>(full16.data());
    auto* const single = reinterpret_cast<float*>(full32.data());
    for (int64_t i = 0; i < ranks * kNumel; ++i) {
      single[i] = float(i % 128);
      half[i] = bf16(single[i]);
    }
  }
  float sum(int64_t i) const { return reinterpret_cast<const float*>(shard.data())[i]; }

  Arena full16, full32, shard, mpi;
};

struct Times {
  std::vector<double> ours, mpi, ratio, copy;
};

Times measure(comm::Communicator& comm, Stream& stream, Buffers& buffers) {
  const auto ours = [&] {
    comm.reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32},
                        {.shard_numel = kNumel, .begin = 0, .numel = kNumel}, buffers.full16.data(),
                        buffers.shard.data());
  };
  const auto mpi = [&] {
    MPI_Reduce_scatter_block(buffers.full32.data(), buffers.mpi.data(), int(kNumel), MPI_FLOAT,
                             MPI_SUM, MPI_COMM_WORLD);
  };
  const auto copy = [&] {
    std::memcpy(buffers.mpi.data(), buffers.full32.data(), size_t(kNumel) * 4);
  };
  Times times;
  for (int pair = 0; pair < kPairs; ++pair) {
    times.ours.push_back(seconds_of(ours));
    times.mpi.push_back(seconds_of(mpi));
    times.ratio.push_back(times.mpi.back() / times.ours.back());
    times.copy.push_back(seconds_of(copy));
  }
  return times;
}

// Memory must deliver the full bf16 array and take the fp32 shard; a copy of n bytes moves 2 n.
// Neither count has the lines that a store reads first.
bool report(int ranks, const Times& times) {
  std::printf("reduce-scatter, %d ranks, %.1f M elements a shard, %d pairs\n", ranks, kNumel * 1e-6,
              kPairs - 1);
  const Spread ours = spread_of(times.ours), copy = spread_of(times.copy);
  const Spread ratio = spread_of(times.ratio);
  print("shared memory, bf16 in, fp32 sum", ours, 1e3, "ms");
  print("MPI_Reduce_scatter_block, fp32", spread_of(times.mpi), 1e3, "ms");
  print("MPI's time over ours (goal 5)", ratio, 1, "x ");
  const double rate = double(kNumel) * (2 * ranks + 4) / ours.median;
  const double ceiling = double(kNumel) * 8 / copy.median;
  std::printf("%-44s %8.2f GB/s a rank, of %.2f when all ranks copy: %.0f %%\n", "memory rate",
              rate * 1e-9, ceiling * 1e-9, 100 * rate / ceiling);
  return ratio.median >= kGoal;
}

void small_latency(comm::Communicator& comm, Stream& stream) {
  std::vector<int64_t> words(2200), other(2200);
  std::vector<double> ours, mpi;
  for (int i = 0; i < 201; ++i) {
    ours.push_back(seconds_of([&] { comm.all_reduce(stream, words); }));
    mpi.push_back(seconds_of([&] {
      MPI_Allreduce(MPI_IN_PLACE, other.data(), 2200, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    }));
  }
  if (comm.rank() != 0) return;
  print("all_reduce of 2200 words, shared memory", spread_of(ours), 1e6, "us");
  print("all_reduce of 2200 words, MPI", spread_of(mpi), 1e6, "us");
}

bool run(int64_t staging_bytes) {
  const auto comm = comm::make_shm({.staging_bytes = staging_bytes});
  Stream stream(1);
  Buffers buffers(comm->ranks());
  const Times times = measure(*comm, stream, buffers);
  const bool fast = comm->rank() != 0 || report(comm->ranks(), times);
  small_latency(*comm, stream);
  const float expected = float(comm->ranks() * ((comm->rank() * kNumel + 77) % 128));
  const bool right = buffers.sum(77) == expected;
  if (comm->rank() == 0) std::printf("%s\n", fast && right ? "passed" : "FAILED");
  return fast && right;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  bool passed = false;
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    passed = run(argc > 1 ? std::atoll(argv[1]) : int64_t(8) << 20);
  }
  MPI_Finalize();
  return passed ? 0 : 1;
}
