#include "zero/kernels/gated.hpp"

#include <cmath>

#include "kernels/support/activations.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::gated", kBackward = "zero::gated_backward";

struct Silu {
  KOKKOS_INLINE_FUNCTION static float of(float x) { return silu_f32(x); }
  KOKKOS_INLINE_FUNCTION static float slope(float x) { return silu_slope_f32(x); }
};

struct Gelu {
  KOKKOS_INLINE_FUNCTION static float of(float x) { return gelu_f32(x); }
  KOKKOS_INLINE_FUNCTION static float slope(float x) { return gelu_slope_f32(x); }
};

template <class T, class Act>
struct Forward {
  int64_t width;
  const T* x;
  T* y;

  /// A row, on a thread of the host.
  KOKKOS_FUNCTION ZERO_FLATTEN void operator()(const HostRow& row, int64_t r) const {
    const T* const gate = x + r * 2 * width;
    const T* const up = gate + width;
    T* const to = y + r * width;
    row.for_each(width, [=](int64_t j) { to[j] = T(Act::of(float(gate[j])) * float(up[j])); });
  }
  /// `kCount` elements from `first` of a row on, on a thread of a device.
  template <class Pieces>
  KOKKOS_INLINE_FUNCTION void at(int64_t r, int64_t first) const {
    const auto gate = Pieces::load(x + r * 2 * width, first);
    const auto up = Pieces::load(x + r * 2 * width + width, first);
    auto to = gate;
    for (int k = 0; k < Pieces::kCount; ++k)
      to.at[k] = T(Act::of(float(gate.at[k])) * float(up.at[k]));
    Pieces::store(y + r * width, first, to);
  }
};

template <class T, class Act>
struct Backward {
  int64_t width;
  GatedGradArrays<T> arrays;

  KOKKOS_FUNCTION ZERO_FLATTEN void operator()(const HostRow& row, int64_t r) const {
    const T* const gate = arrays.x + r * 2 * width;
    const T* const up = gate + width;
    const T* const dy = arrays.dy + r * width;
    T* const dgate = arrays.dx + r * 2 * width;
    T* const dup = dgate + width;
    row.for_each(width, [=](int64_t j) {
      const float g = float(gate[j]), u = float(up[j]), d = float(dy[j]);
      dgate[j] = T(d * u * Act::slope(g));
      dup[j] = T(d * Act::of(g));
    });
  }
  template <class Pieces>
  KOKKOS_INLINE_FUNCTION void at(int64_t r, int64_t first) const {
    const auto gate = Pieces::load(arrays.x + r * 2 * width, first);
    const auto up = Pieces::load(arrays.x + r * 2 * width + width, first);
    const auto dy = Pieces::load(arrays.dy + r * width, first);
    auto dgate = gate, dup = up;
    for (int k = 0; k < Pieces::kCount; ++k) {
      const float g = float(gate.at[k]), u = float(up.at[k]), d = float(dy.at[k]);
      dgate.at[k] = T(d * u * Act::slope(g));
      dup.at[k] = T(d * Act::of(g));
    }
    Pieces::store(arrays.dx + r * 2 * width, first, dgate);
    Pieces::store(arrays.dx + r * 2 * width + width, first, dup);
  }
};

/// Elements in runs of a GPU thread.
template <class T>
struct Runs {
  static constexpr int64_t kCount = kRunNumel;
  KOKKOS_INLINE_FUNCTION static Run<T> load(const T* row, int64_t first) {
    return run_at(row, first);
  }
  KOKKOS_INLINE_FUNCTION static void store(T* row, int64_t first, const Run<T>& run) {
    set_run(row, first, run);
  }
};

/// Elements one by one.
template <class T>
struct Singles {
  static constexpr int64_t kCount = 1;
  struct One {
    T at[1];
  };
  KOKKOS_INLINE_FUNCTION static One load(const T* row, int64_t first) { return {{row[first]}}; }
  KOKKOS_INLINE_FUNCTION static void store(T* row, int64_t first, const One& one) {
    row[first] = one.at[0];
  }
};

/// An item of a row's pieces.
template <class Pieces, class Code>
struct PieceLoop {
  Code code;
  int64_t in_row;  ///< pieces of a row

  KOKKOS_FUNCTION void operator()(int64_t item) const {
    const int64_t r = item / in_row;
    code.template at<Pieces>(r, (item - r * in_row) * Pieces::kCount);
  }
};

template <class T, class Code>
void run(Stream& stream, const std::string& label, const GatedExtents& of, bool has_runs,
         const Code& code) {
  ZERO_REQUIRE(of.rows >= 1 && of.width >= 1, "gates of ", of.rows, " x ", of.width,
               ": both must be at least 1");
  if constexpr (kHostSpace) {
    for_each_row(stream, label, of.rows, code);
  } else if (has_runs && of.width % kRunNumel == 0) {
    const int64_t in_row = of.width / kRunNumel;
    for_each_element(stream, label, of.rows * in_row, PieceLoop<Runs<T>, Code>{code, in_row});
  } else {
    for_each_element(stream, label, of.rows * of.width,
                     PieceLoop<Singles<T>, Code>{code, of.width});
  }
}

/// Calls use() with the struct of a gate's activation.
template <class Use>
void with_gate(Gate gate, const Use& use) {
  gate == Gate::silu ? use(Silu{}) : use(Gelu{});
}

}  // namespace

template <class T>
void gated(Stream& stream, Gate gate, const GatedExtents& extents, const T* x, T* y) {
  with_gate(gate, [&]<class Act>(Act) {
    run<T>(stream, kForward, extents, takes_runs(x) && takes_runs(y),
           Forward<T, Act>{extents.width, x, y});
  });
}

template <class T>
void gated_backward(Stream& stream, Gate gate, const GatedExtents& extents,
                    const GatedGradArrays<T>& arrays) {
  const bool has_runs = takes_runs(arrays.x) && takes_runs(arrays.dy) && takes_runs(arrays.dx);
  with_gate(gate, [&]<class Act>(Act) {
    run<T>(stream, kBackward, extents, has_runs, Backward<T, Act>{extents.width, arrays});
  });
}

template void gated(Stream&, Gate, const GatedExtents&, const float*, float*);
template void gated(Stream&, Gate, const GatedExtents&, const bf16*, bf16*);
template void gated(Stream&, Gate, const GatedExtents&, const f16*, f16*);
template void gated_backward(Stream&, Gate, const GatedExtents&, const GatedGradArrays<float>&);
template void gated_backward(Stream&, Gate, const GatedExtents&, const GatedGradArrays<bf16>&);
template void gated_backward(Stream&, Gate, const GatedExtents&, const GatedGradArrays<f16>&);

}  // namespace zero::kernels
