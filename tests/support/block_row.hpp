#pragma once
/// A row that the threads of a block of a GPU work on together, run on the host thread by thread:
/// what a team's row is to kernels of rows (kernels/support/rows.hpp).

#include <cmath>

#include "tests/support/device_block.hpp"

namespace zero::testing {

struct BlockRow {
  static constexpr int kThreads = 128;
  const HostBlockThread& block;

  template <class F>
  void for_each(int64_t width, const F& f) const {
    for (int64_t j = block.thread(); j < width; j += kThreads) f(j);
  }
  template <class A, class F>
  A sum(int64_t width, const F& f) const {
    A total = 0;
    for_each(width, [&](int64_t j) { total += f(j); });
    return of_all(total, [](A a, A b) { return a + b; });
  }
  template <class F>
  float maximum(int64_t width, const F& f) const {
    float most = -INFINITY;
    for_each(width, [&](int64_t j) { most = std::max(most, f(j)); });
    return of_all(most, [](float a, float b) { return std::max(a, b); });
  }
  template <class F>
  void once(const F& f) const {
    if (block.thread() == 0) f();
  }
  void barrier() const { block.sync(); }

 private:
  template <class Combine>
  float of_all(float own, const Combine& combine) const {
    float* const shared = block.shared();
    shared[block.thread()] = own;
    block.sync();
    float all = shared[0];
    for (int thread = 1; thread < kThreads; ++thread) all = combine(all, shared[thread]);
    block.sync();
    return all;
  }
};

/// f(row, r) on every thread of rows [0, rows), the last row first.
template <class F>
void run_rows(int64_t rows, const F& f) {
  for (int64_t r = rows - 1; r >= 0; --r)
    HostBlock(r, BlockRow::kThreads, BlockRow::kThreads, [&](const HostBlockThread& block) {
      f(BlockRow{block}, r);
    }).run();
}

/// f(i) for elements [0, numel), the last one first.
template <class F>
void run_elements(int64_t numel, const F& f) {
  for (int64_t i = numel - 1; i >= 0; --i) f(i);
}

}  // namespace zero::testing
