#pragma once
/// Loops over rows with sums along each row. On the host one thread has a row and its loops
/// vectorise; on a GPU a team of threads has it. A sum is a fixed tree over the row's width: lane l
/// adds the elements i = l (mod kLanes) in order, then the lanes add as a balanced tree.

#include <cmath>
#include <string>
#include <type_traits>

#include "kernels/support/elements.hpp"
#include "zero/base/exact_sum.hpp"

namespace zero::kernels {

/// A row that one host thread works on.
struct HostRow {
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(int64_t width, const F& f) const {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) f(j);
  }

  /// The sum of f(j), of type A, over j in [0, width).
  template <class A, class F>
  KOKKOS_FORCEINLINE_FUNCTION A sum(int64_t width, const F& f) const {
    constexpr int kLanes = 32;
    A lane[kLanes] = {};
    const int64_t whole = width / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) lane[l] += f(j + l);
    }
    for (int64_t j = whole; j < width; ++j) lane[j - whole] += f(j);
    for (int step = kLanes / 2; step > 0; step /= 2) {
      for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
    }
    return lane[0];
  }

  /// The largest f(j), a float, over j in [0, width); NaN is passed over.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION float maximum(int64_t width, const F& f) const {
    constexpr int kLanes = 32;
    float lane[kLanes];
    for (float& value : lane) value = -INFINITY;
    const int64_t whole = width / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) lane[l] = lane[l] < f(j + l) ? f(j + l) : lane[l];
    }
    for (int64_t j = whole; j < width; ++j) lane[0] = lane[0] < f(j) ? f(j) : lane[0];
    for (int l = 1; l < kLanes; ++l) lane[0] = lane[0] < lane[l] ? lane[l] : lane[0];
    return lane[0];
  }

  /// f() once.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(const F& f) const {
    f();
  }
  /// Orders what the row's threads wrote before what they read after.
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {}
};

/// A row that a team of device threads works on.
struct TeamRow {
  using Member = Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int kThreads = 128;
  const Member& member;

  template <class F>
  KOKKOS_INLINE_FUNCTION void for_each(int64_t width, const F& f) const {
    for (int64_t j = member.team_rank(); j < width; j += member.team_size()) f(j);
  }
  template <class A, class F>
  KOKKOS_INLINE_FUNCTION A sum(int64_t width, const F& f) const {
    A total = 0;
    for_each(width, [&](int64_t j) { total += f(j); });
    member.team_reduce(Kokkos::Sum<A>(total));
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

/// Adds a finite double to a sum that several threads add to; the sum is exact, so in any order.
KOKKOS_INLINE_FUNCTION void add_atomically(ExactSum& sum, double finite) {
  const ExactSum::Digits digits = ExactSum::digits_of(finite);
  for (int i = 0; i < 3; ++i) {
    if (digits.part[i] != 0) Kokkos::atomic_add(&sum.limb[digits.first + i], digits.part[i]);
  }
}

/// f(row, r) for every r in [0, rows), in any order; f takes a `const Row&`.
template <class F>
void for_each_row(const Stream& stream, const std::string& label, int64_t rows, const F& f) {
  if constexpr (kHostSpace) {
    if (rows == 1) return f(HostRow(), 0);  // waking threads costs more
    Kokkos::parallel_for(label, items(stream, rows), RowLoop<F>{f});
  } else {
    const Space& space = stream.handle().space;
    Kokkos::parallel_for(label, Kokkos::TeamPolicy<Space>(space, int(rows), TeamRow::kThreads),
                         TeamLoop<F>{f});
  }
}

}  // namespace zero::kernels
