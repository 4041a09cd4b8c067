#pragma once
/// Kernels written for a thread of a block, as kernels/support/warp_runs.hpp wants it, on Kokkos's
/// teams.

#include "kernels/support/elements.hpp"
#include "kernels/support/warp_runs.hpp"

namespace zero::kernels {

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

  /// To a number that other threads add to.
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

/// f(block) on every thread of blocks [0, blocks), of kThreads each, which the compiler leaves
/// registers for, and with `shared_numel` floats that a block's threads share. Devices alone.
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
