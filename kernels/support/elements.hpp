#pragma once
/// Loops over elements that do not depend on each other. On the host a work item is a block whose
/// inner loop the compiler vectorises; on a GPU it is one element.
///
/// A functor's body first copies its captured structs into locals: through `this`, the compiler
/// must expect every store to change them, and then no loop vectorises. Labels are std::string
/// objects of the file, because Kokkos takes strings and one made per call would allocate inside a
/// step.

#include <algorithm>
#include <mutex>
#include <string>
#include <type_traits>

#include "kernels/support/row_chunks.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/device/space.hpp"

namespace zero::kernels {

inline constexpr bool kHostSpace = std::is_same_v<Space, Kokkos::OpenMP>;

inline std::mutex launch_turn;

using Items = Kokkos::RangePolicy<Space, Kokkos::IndexType<int64_t>>;

/// Where what is queued on a stream runs. Code of the host alone is no kernel that comes here.
inline const Space& space_of(const Stream& stream) {
  ZERO_REQUIRE(!stream.is_of_host(), "a kernel of the device on the host's stream");
  return stream.handle().space;
}

/// Work items [0, count). To choose a chunk size, Kokkos 4 would build a default execution space,
/// on the heap, at each call; so one is named.
inline Items items(const Stream& stream, int64_t count) {
  return Items(space_of(stream), 0, count, Kokkos::ChunkSize(1));
}

/// Queues a kernel. Kokkos looks a kernel's attributes up in a map without a lock when it launches
/// it, so that on a device one thread at a time does. Steps replay recordings and come here once.
template <class Policy, class F>
void launch(const std::string& label, const Policy& policy, const F& f) {
  std::unique_lock turn(launch_turn, std::defer_lock);
  if (!kHostSpace) turn.lock();
  Kokkos::parallel_for(label, policy, f);
}

template <int64_t kGrain, class F>
struct BlockLoop {
  Interval all;
  F block;

  KOKKOS_FUNCTION void operator()(int64_t b) const {
    const int64_t first = all.begin + b * kGrain;
    block(first, least(first + kGrain, all.end));
  }
};

/// f(first, last) for pieces of `all` of kGrain elements (a last one of fewer), in any order.
template <int64_t kGrain, class F>
void for_each_piece(const Stream& stream, const std::string& label, Interval all, const F& f) {
  const int64_t pieces = ceil_div(std::max<int64_t>(all.end - all.begin, 0), kGrain);
  const BlockLoop<kGrain, F> loop{all, f};
  // Waking threads costs more than one piece.
  if (kHostSpace && pieces <= 1) {
    if (pieces == 1) loop(0);
    return;
  }
  launch(label, items(stream, pieces), loop);
}

/// As for_each_piece, in pieces that suit the machine.
template <class F>
void for_each_block(const Stream& stream, const std::string& label, Interval all, const F& f) {
  for_each_piece<kHostSpace ? kBlockNumel : 1>(stream, label, all, f);
}

template <class F>
struct ElementLoop {
  F element;
  KOKKOS_FUNCTION void operator()(int64_t first, int64_t last) const {
    const F f = element;
#pragma GCC ivdep
    for (int64_t i = first; i < last; ++i) f(i);
  }
};

/// What one host thread has done before others would be awake: the hidden layer of one token.
inline constexpr int64_t kFewElements = 4 * kBlockNumel;

/// f(i) for every i in [0, numel), in any order; an element may write only what belongs to i.
template <class F>
void for_each_element(const Stream& stream, const std::string& label, int64_t numel, const F& f) {
  if (kHostSpace && numel <= kFewElements) return ElementLoop<F>{f}(0, numel);
  for_each_block(stream, label, {0, numel}, ElementLoop<F>{f});
}

}  // namespace zero::kernels
