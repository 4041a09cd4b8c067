#pragma once
/// Eight elements that follow each other, moved by accesses of 16 bytes.

#include <cstdint>
#include <type_traits>

#include "zero/base/portable.hpp"

namespace zero::kernels {

/// The second input of a function of one.
struct None {
  ZERO_HOST_DEVICE explicit operator float() const { return 0.0f; }
};

inline constexpr int64_t kRunNumel = 8;

template <class T>
struct alignas(std::is_same_v<T, None> ? 1 : 16) Run {
  T at[kRunNumel];
};

template <class T>
bool takes_runs(const T* array) {
  return std::is_same_v<T, None> || reinterpret_cast<uintptr_t>(array) % alignof(Run<T>) == 0;
}

/// Elements [first, first + kRunNumel), aligned.
template <class T>
ZERO_HOST_DEVICE inline Run<T> run_at(const T* array, int64_t first) {
  if constexpr (std::is_same_v<T, None>)
    return {};
  else
    return *reinterpret_cast<const Run<T>*>(array + first);
}

template <class T>
ZERO_HOST_DEVICE inline void set_run(T* array, int64_t first, const Run<T>& run) {
  *reinterpret_cast<Run<T>*>(array + first) = run;
}

}  // namespace zero::kernels
