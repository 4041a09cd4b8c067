#pragma once
/// The matrix product that product() calls, with a twin for each library, and the translation of a
/// ProductSpec.

#include <cstdint>
#include <string>

#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels::vendor {

/// The work that fused_gemm() does beside a product. `aux` is laid out as c.
enum class Epilogue : uint8_t {
  none,
  gelu,                ///< c = gelu(aux), aux = op(a) op(b) + bias
  gelu_gradient,       ///< c = op(a) op(b) * gelu'(aux)
  gelu_gradient_sums,  ///< as gelu_gradient, and sums[j] = the sum over m of c[m, j]
  column_sums,         ///< beside c: sums[j] = the sum over k of op(b)[k, j]
  residual             ///< c = op(a) op(b) + bias + aux
};

/// The shape of c[m, n] = op(a) op(b) (+ bias over n) (+ c), with every leading dimension.
struct GemmSpec {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  Dtype in, out;             ///< f32 to f32; bf16 to bf16 or f32; f16 to f16 or f32
  bool transpose_a = false;  ///< a is stored [k, m]
  bool transpose_b = false;  ///< b is stored [n, k]
  bool accumulate = false;   ///< needs out = f32 and no bias
  bool bias = false;
  Epilogue epilogue = Epilogue::none;  ///< for fused_gemm() alone
  bool operator==(const GemmSpec&) const = default;
};

struct GemmOperands {
  const void* a;
  const void* b;
  void* c;
  const void* bias = nullptr;  ///< [n] of `in`
  void* aux = nullptr;         ///< [m, ldc] of `out`; gelu alone writes it
  void* sums = nullptr;        ///< [n] of `out`
  float* scratch = nullptr;    ///< with gelu_gradient_sums, for the parts of its sums
};

/// The rules for choosing among a library's algorithms for a product.
struct GemmRules {
  bool measure = false;    ///< true: the fastest of the first few; false: the library's first
  std::string cache = "";  ///< file that keeps the measurements; "" keeps them in this process
  int candidates = 32;     ///< number to measure, at most kCandidatesMost
};
inline constexpr int kCandidatesMost = 32;

/// Sets the rules for products whose first call comes later. The host's libraries choose for
/// themselves.
void set_gemm_rules(const GemmRules& rules);

/// Computes a product. Asynchronous on `stream`. Safe to call from several threads, each with its
/// own stream.
void gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands);

/// Prepares the first gemm() with this spec on this thread, so a refusal then, such as of memory
/// for its code, comes now. Touches no operand. Does nothing on a GPU, whose libraries choose by
/// operands.
void prepare_gemm(Stream& stream, const GemmSpec& spec);
/// Returns the number of products that this thread has prepared, for tests.
int64_t gemms_made();

/// Returns name and version of the library.
const char* gemm_library();
/// Returns the instructions that the library uses on this processor.
const char* gemm_isa();

// Products with an epilogue: twins, host/gemm.cpp and cuda/gemm.cpp.

/// A view of the kernels that a fused product stands for. They may run several times.
class Apart {
 public:
  template <class Work>
  explicit Apart(const Work& work)
      : work_(&work), call_([](const void* at) { (*static_cast<const Work*>(at))(); }) {}
  void run() const { call_(work_); }

 private:
  const void* work_;
  void (*call_)(const void*);
};

/// True if the library has epilogues.
bool has_epilogues();

/// Does what `apart` does, by one call of the library if possible and measured to be faster at the
/// first call with a spec. Asynchronous on `stream`. REQUIRES: spec.epilogue is not none.
void fused_gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands,
                const Apart& apart);

/// Runs `first` or `second`, which both add the product of `operands`, and what else `spec` says,
/// to an fp32 sum. Takes the faster one, measured at the first call with a spec, else `first`. Both
/// write to `c`, which points elsewhere during measurement.
void run_faster(Stream& stream, const GemmSpec& spec, const GemmOperands& operands, float*& c,
                const Apart& first, const Apart& second);

}  // namespace zero::kernels::vendor

namespace zero::kernels {

inline int64_t leading(int64_t given, int64_t dense) {
  ZERO_REQUIRE(given == 0 || given >= dense, "leading dimension ", given, " of rows of ", dense);
  return given == 0 ? dense : given;
}

/// Returns the GemmSpec of a product of `in` operands into `out`, with or without a bias. Throws
/// Error(kInternal) for extents below 1, sums in 16 bits, or both a bias and accumulate.
inline vendor::GemmSpec gemm_spec(const ProductSpec& spec, Dtype in, Dtype out, bool bias) {
  ZERO_REQUIRE(spec.m > 0 && spec.n > 0 && spec.k > 0, "product of ", spec.m, " x ", spec.n, " x ",
               spec.k, ": every extent must be at least 1");
  ZERO_REQUIRE(!spec.accumulate || out == Dtype::f32, "product would accumulate in ", name_of(out),
               ": sums stay in fp32, so give a float c");
  ZERO_REQUIRE(!bias || !spec.accumulate, "product with both a bias and accumulate: choose one");
  return {.m = spec.m,
          .n = spec.n,
          .k = spec.k,
          .lda = leading(spec.lda, spec.transpose_a ? spec.m : spec.k),
          .ldb = leading(spec.ldb, spec.transpose_b ? spec.k : spec.n),
          .ldc = leading(spec.ldc, spec.n),
          .in = in,
          .out = out,
          .transpose_a = spec.transpose_a,
          .transpose_b = spec.transpose_b,
          .accumulate = spec.accumulate,
          .bias = bias};
}

}  // namespace zero::kernels
