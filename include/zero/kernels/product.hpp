#pragma once

#include <cstdint>
#include <string>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// The shape of c[m, n] = op(a) op(b) (+ bias over n) (+ c), row-major, leading dimensions dense
/// unless given.
struct ProductSpec {
  int64_t m, n, k;
  bool transpose_a = false;           ///< a is stored [k, m]
  bool transpose_b = false;           ///< b is stored [n, k]
  bool accumulate = false;            ///< c += ..., else c = ...
  int64_t lda = 0, ldb = 0, ldc = 0;  ///< 0: dense
};

/// Writes the matrix c = op(a) op(b), plus `bias` and c itself if asked, as `spec` says. T is
/// float, bf16 or f16; Out is T or float. Accumulates in fp32 and rounds to Out once. f16 is stored
/// as IEEE half and multiplied in fp32. `bias` is [n] of T, or null.
///
/// Equal spec, threads and library give equal bits. After the first call with a spec on a
/// thread, no further memory is kept for it. Throws Error(kInternal) for accumulate with a bias or
/// a 16-bit Out, because sums stay in fp32. Asynchronous on `stream`.
template <class T, class Out>
void product(Stream& stream, const ProductSpec& spec, const T* a, const T* b, const T* bias,
             Out* c);

/// Prepares the first product() with this spec on this thread, without touching operands. a and b
/// have dtype `in` and c has `out`; `bias`: true if there is one. Does nothing on a GPU. Throws
/// Error(kDoesNotFit) if a library is refused memory for its code.
void prepare_product(Stream& stream, const ProductSpec& spec, Dtype in, Dtype out, bool bias);
/// Returns the number of product kernels that this thread has made, for tests.
int64_t products_made();

/// The rules for choosing among a library's algorithms for a product (cuBLASLt).
struct ProductRules {
  /// True: the first call with a spec measures the algorithms that the library names first, and
  /// keeps the fastest. False: takes the first one, the same in every run.
  bool measure = false;
  std::string cache = "";  ///< file that keeps the measurements; "" keeps them in this process
  /// Number of algorithms to measure, 1 to 32. The library's first is seldom the fastest where
  /// tiles do not fill the device, as with 1600 columns.
  int candidates = 32;
};

/// Sets the rules for products whose first call comes later. They belong to the record of
/// arithmetic choices. The host's libraries choose for themselves.
void set_product_rules(const ProductRules& rules);

/// Returns name and version of the library that product() calls, for the record of arithmetic
/// choices: "oneDNN 2.6.3".
const char* product_library();
/// Returns the name of the instruction set that this library uses on this machine:
/// "avx512_core_amx".
const char* product_isa();

/// Returns the version of the order in which this build's kernels add, for the record of arithmetic
/// choices. A change of order raises it. On a GPU, 3 means that norm gradients and sums of columns
/// add rows by more blocks.
int order_of_sums();

/// Returns the fp32 elements of scratch that column_sum() needs for x [rows, columns].
int64_t column_sum_scratch_numel(int64_t rows, int64_t columns);

/// Writes sum[j] = T(sum over i of x[i, j]), the gradient of a bias. Adds in fp32 along a tree that
/// depends on the extents alone. x [rows, columns], sum [columns], scratch
/// [column_sum_scratch_numel(rows, columns)]. Asynchronous on `stream`.
template <class T>
void column_sum(Stream& stream, int64_t rows, int64_t columns, const T* x, T* sum, float* scratch);

/// True if the library of product() can do more than a product in one call. If not, each function
/// below runs its kernels one after the other.
bool fuses_products();

// Fused products. T is float, bf16 or f16; `spec` is as for product(), without accumulate. c and
// the matrices beside it are dense and of T. No two arrays overlap. Asynchronous on `stream`;
// allocates nothing after the first call with a spec on a thread.
//
// With ProductRules::measure, the first call times one call of the library against one kernel after
// the other. The faster way is kept with the algorithms of product(). Otherwise the kernels run
// apart. One call does not round intermediate results to T.

template <class T>
struct ProductGelu {
  const T* a;
  const T* b;
  const T* bias;  ///< [n], or null
  T* h;           ///< [m, n], written: op(a) op(b) + bias
  T* y;           ///< [m, n], written: gelu(h)
};
/// Writes h = op(a) op(b) + bias by product(), then y = gelu(h).
template <class T>
void product_gelu(Stream& stream, const ProductSpec& spec, const ProductGelu<T>& arrays);

template <class T>
struct ProductAdd {
  const T* a;
  const T* b;
  const T* bias;      ///< [n], or null
  const T* residual;  ///< [m, n]
  T* y;               ///< [m, n], written
};
/// Writes y = op(a) op(b) + bias + residual: product() into y, then an addition in place.
template <class T>
void product_add(Stream& stream, const ProductSpec& spec, const ProductAdd<T>& arrays);

template <class T>
struct ProductGeluBackward {
  const T* a;
  const T* b;
  const T* h;                ///< [m, n]
  T* dh;                     ///< [m, n], written
  T* sum = nullptr;          ///< [n], written: the sum of dh over m; or null
  float* scratch = nullptr;  ///< [gelu_backward_scratch_numel(m, n)] if there is a sum
};
/// Returns the fp32 elements of scratch that product_gelu_backward() needs for dh [rows, columns]
/// with a sum.
int64_t gelu_backward_scratch_numel(int64_t rows, int64_t columns);
/// Writes dh = (op(a) op(b)) * gelu'(h): product() into dh, then activate_backward() in place. Then
/// writes column_sum() of dh to `sum`, unless null. Takes the fastest of one, two and three calls.
template <class T>
void product_gelu_backward(Stream& stream, const ProductSpec& spec,
                           const ProductGeluBackward<T>& arrays);

template <class T>
struct ProductColumnSum {
  const T* a;
  const T* b;      ///< [k, n]
  T* c;            ///< [m, n], written
  T* sum;          ///< [n], written: the sum over k of b
  float* scratch;  ///< [column_sum_scratch_numel(k, n)]
};
/// Writes c by product(), then `sum` by column_sum() of b: the gradients of a linear layer's weight
/// and bias. Throws Error(kInternal) if b is transposed or not dense.
template <class T>
void product_column_sum(Stream& stream, const ProductSpec& spec, const ProductColumnSum<T>& arrays);

template <class T>
struct ProductIntoSum {
  const T* a;
  const T* b;      ///< [k, n]
  float* c;        ///< [m, n], added to with spec.accumulate, else written
  T* sum;          ///< [n], written: the sum over k of b
  float* scratch;  ///< [column_sum_scratch_numel(k, n)]
  T* rounded;      ///< [m, n], scratch too; null: the product adds to c
};
/// Writes the fp32 c by product(), then `sum` by column_sum() of b. If measured to be faster:
/// product_column_sum() into `rounded`, then accumulate(), which rounds before it adds. Allows
/// spec.accumulate.
template <class T>
void product_into_sum(Stream& stream, const ProductSpec& spec, const ProductIntoSum<T>& arrays);

}  // namespace zero::kernels
