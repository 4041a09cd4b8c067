#pragma once
/// Loops over rows with sums along each row. On the host one thread has a row and its loops
/// vectorise; on a GPU a team of threads has it. A sum is a fixed tree over the width: lane l adds
/// the elements i = l (mod kLanes) in order, then the lanes add as a balanced tree. launch_blocks()
/// runs kernels for a thread of a block (warp_runs.hpp) on Kokkos' teams.

#include <cmath>
#include <string>
#include <type_traits>

#include "kernels/support/elements.hpp"
#include "kernels/support/host_threads.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/base/exact_sum.hpp"

namespace zero::kernels {

/// Adds a finite double to a sum that several threads share. The sum is exact, so any order will
/// do.
KOKKOS_INLINE_FUNCTION void add_atomically(ExactSum& sum, double finite) {
  const ExactSum::Digits digits = ExactSum::digits_of(finite);
  for (int i = 0; i < 3; ++i) {
    if (digits.part[i] != 0) Kokkos::atomic_add(&sum.limb[digits.first + i], digits.part[i]);
  }
}

/// A row that a team of device threads works on.
struct TeamRow {
  using Member = Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int kThreads = 128;
  const Member& member;

  template <class F>
  KOKKOS_INLINE_FUNCTION void for_each(int64_t width, const F& f) const {
    for (int64_t j = member.team_rank(); j < width; j += member.team_size()) f(j);
  }
  /// Writes to[j] = T(f(j)). Several loads precede the first store, which might change what they
  /// read.
  template <class T, class F>
  KOKKOS_INLINE_FUNCTION void write(int64_t width, T* to, const F& f) const {
    constexpr int kAtOnce = 4;
    const int64_t step = member.team_size();
    int64_t j = member.team_rank();
    for (; j + (kAtOnce - 1) * step < width; j += kAtOnce * step) {
      float value[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) value[k] = f(j + k * step);
      for (int k = 0; k < kAtOnce; ++k) to[j + k * step] = T(value[k]);
    }
    for (; j < width; j += step) to[j] = T(f(j));
  }
  template <class A, class F>
  KOKKOS_INLINE_FUNCTION A sum(int64_t width, const F& f) const {
    A total = 0;
    for_each(width, [&](int64_t j) { total += f(j); });
    member.team_reduce(Kokkos::Sum<A>(total));
    return total;
  }
  /// Returns the sum in the order and so with the bits of HostRow::sum, on the team's first thread
  /// alone.
  template <class A, class F>
  KOKKOS_INLINE_FUNCTION A sum_as_host(int64_t width, const F& f) const {
    A total = 0;
    KOKKOS_IF_ON_DEVICE(({
      constexpr int kLanes = 32;
      if (member.team_rank() >= kLanes) return total;
      for (int64_t j = member.team_rank(); j < width; j += kLanes) total += f(j);
      for (int step = kLanes / 2; step > 0; step /= 2)
        total += __shfl_down_sync(0xffffffffu, total, unsigned(step));
    }))
    return total;
  }
  template <class F>
  KOKKOS_INLINE_FUNCTION float maximum(int64_t width, const F& f) const {
    float most = -INFINITY;
    for_each(width, [&](int64_t j) { most = most < f(j) ? f(j) : most; });
    member.team_reduce(Kokkos::Max<float>(most));
    return most;
  }
  template <class F>
  KOKKOS_INLINE_FUNCTION void once(const F& f) const {
    if (member.team_rank() == 0) f();
  }
  KOKKOS_INLINE_FUNCTION void barrier() const { member.team_barrier(); }
  KOKKOS_INLINE_FUNCTION static void add(ExactSum& sum, double finite) {
    add_atomically(sum, finite);
  }
};

using Row = std::conditional_t<kHostSpace, HostRow, TeamRow>;

template <class F>
struct RowLoop {
  F row;
  KOKKOS_FUNCTION void operator()(int64_t r) const { row(HostRow(), r); }
};

template <class F>
struct TeamLoop {
  F row;
  KOKKOS_FUNCTION void operator()(const TeamRow::Member& member) const {
    row(TeamRow{member}, int64_t(member.league_rank()));
  }
};

/// Calls f(row, r), row a `const Row&`, for every r in [0, rows), in any order. On a device a team
/// of `threads` has a row.
template <class F>
void for_each_row(const Stream& stream, const std::string& label, int64_t rows, const F& f,
                  [[maybe_unused]] int threads = TeamRow::kThreads) {
  if constexpr (kHostSpace) {
    if (rows == 1) return f(HostRow(), 0);  // waking threads costs more
    launch(label, items(stream, rows), RowLoop<F>{f});
  } else {
    launch(label, Kokkos::TeamPolicy<Space>(space_of(stream), int(rows), threads), TeamLoop<F>{f});
  }
}

// Kernels of a GPU alone, for a thread of a block.

/// A thread of a team of the device.
class TeamBlock {
 public:
  using Member = Kokkos::TeamPolicy<Space>::member_type;

  ZERO_DEVICE_ONLY TeamBlock(const Member& member, float* shared)
      : member_(member), shared_(shared) {}

  ZERO_DEVICE_ONLY int64_t index() const { return member_.league_rank(); }
  ZERO_DEVICE_ONLY int thread() const { return member_.team_rank(); }
  ZERO_DEVICE_ONLY int warp() const { return thread() / kWarpLanes; }
  ZERO_DEVICE_ONLY int lane() const { return thread() % kWarpLanes; }
  ZERO_DEVICE_ONLY float* shared() const { return shared_; }
  ZERO_DEVICE_ONLY void sync() const { member_.team_barrier(); }
  template <class Value>
  ZERO_DEVICE_ONLY Value shuffle(Value value, [[maybe_unused]] int source) const {
    KOKKOS_IF_ON_DEVICE((value = __shfl_sync(0xffffffffu, value, source);))
    return value;
  }

  /// Adds to a number that other threads add to as well.
  ZERO_DEVICE_ONLY void add(int64_t& sum, int64_t more) const { Kokkos::atomic_add(&sum, more); }

 private:
  const Member& member_;
  float* shared_;
};

template <class F>
struct BlockCode {
  F code;
  int shared_bytes;

  ZERO_DEVICE_ONLY void operator()(const TeamBlock::Member& member) const {
    code(TeamBlock(member, static_cast<float*>(member.team_shmem().get_shmem(shared_bytes))));
  }
};

/// Calls f(block) on every thread of `blocks` blocks of kThreads, for which the compiler leaves
/// registers. A block's threads share `shared_numel` floats. Runs on devices alone.
template <int kThreads, class F>
void launch_blocks(const Stream& stream, const std::string& label, int64_t blocks, const F& f,
                   int64_t shared_numel = 0) {
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<kThreads, 1>>;
  const int shared_bytes = int(shared_numel * int64_t(sizeof(float)));
  Policy policy(space_of(stream), int(blocks), kThreads);
  policy.set_scratch_size(0, Kokkos::PerTeam(shared_bytes));
  launch(label, policy, BlockCode<F>{f, shared_bytes});
}

}  // namespace zero::kernels
