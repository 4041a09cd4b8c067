#pragma once

#include <cstdint>
#include <string>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// c[m, n] = op(a) op(b) (+ bias over n) (+ c), row-major, dense leading dimensions unless given.
struct ProductSpec {
  int64_t m, n, k;
  bool transpose_a = false;           ///< a is stored [k, m]
  bool transpose_b = false;           ///< b is stored [n, k]
  bool accumulate = false;            ///< c += ..., else c = ...
  int64_t lda = 0, ldb = 0, ldc = 0;  ///< 0: dense
};

/// T is float, bf16 or f16; Out is T or float. fp32 accumulation, one rounding to Out (accumulate
/// with a 16-bit Out is refused: sums stay in fp32). f16 is stored as IEEE half and multiplied in
/// fp32. `bias` [n] of T, or null; not together with accumulate.
///
/// The same bits for the same spec, threads and library. After the first call with a spec on a
/// thread no further memory is kept for it. Asynchronous on `stream`.
template <class T, class Out>
void product(Stream& stream, const ProductSpec& spec, const T* a, const T* b, const T* bias,
             Out* c);

/// Makes what the first product() with this spec on this thread makes; touches no operand. Nothing
/// on a GPU. Throws Error(kDoesNotFit) where a library is refused memory for its code.
void prepare_product(Stream& stream, const ProductSpec& spec, Dtype in, Dtype out, bool bias);
/// How many kernels of products this thread has made, for tests.
int64_t products_made();

/// How products are chosen where the library offers several algorithms for one (cuBLASLt).
struct ProductRules {
  /// true: the first call with a spec measures the algorithms that the library names first, and
  /// keeps the fastest. false: the one that it names first, which is the same in every run.
  bool measure = false;
  std::string cache = "";  ///< file that keeps what was measured; "" keeps it in this process
  /// So many of them are measured, 1 to 32. The library's first is seldom the fastest where tiles
  /// do not fill the device, as with 1600 columns.
  int candidates = 32;
};

/// For products whose first call comes later; the rules belong to the record of arithmetic choices.
/// The host's libraries choose for themselves.
void set_product_rules(const ProductRules& rules);

/// Names the library that product() calls, for the record of arithmetic choices: "oneDNN 2.6.3".
const char* product_library();
/// The instructions that it uses here: "avx512_core_amx".
const char* product_isa();

/// A number for the order in which this build's kernels add, for the record of arithmetic choices.
/// A change of that order raises it. A GPU's is 3 since gradients of norms and sums of columns add
/// rows by more blocks.
int order_of_sums();

/// fp32 elements of scratch that column_sum wants.
int64_t column_sum_scratch_numel(int64_t rows, int64_t columns);

/// sum[j] = T(sum over i of x[i, j]), fp32 along a tree that depends on the extents alone: the
/// gradient of a bias. x [rows, columns], sum [columns]. Asynchronous on `stream`.
template <class T>
void column_sum(Stream& stream, int64_t rows, int64_t columns, const T* x, T* sum, float* scratch);

/// Whether the library that product() calls can do more than a product in one call. Where it
/// cannot, each function here is the kernels that it stands for, one after the other.
bool fuses_products();

// T is float, bf16 or f16; `spec` as product() takes it, without accumulate; c and what is beside
// it are dense and of T. No two arrays overlap. Asynchronous on `stream`; allocates nothing after
// the first call with a spec on a thread.
//
// With ProductRules::measure the first call times both ways, in one call of the library and one
// kernel after the other, and the faster one is kept with the algorithms of product(); else it is
// always the second. In one call what is between the two is not rounded to T.

template <class T>
struct ProductGelu {
  const T* a;
  const T* b;
  const T* bias;  ///< [n], or null
  T* h;           ///< [m, n], written: op(a) op(b) + bias
  T* y;           ///< [m, n], written: gelu(h)
};
/// product() into h, then gelu() of it into y.
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
/// y = op(a) op(b) + bias + residual: product() into y, then an addition in place.
template <class T>
void product_add(Stream& stream, const ProductSpec& spec, const ProductAdd<T>& arrays);

template <class T>
struct ProductGeluBackward {
  const T* a;
  const T* b;
  const T* h;                ///< [m, n]
  T* dh;                     ///< [m, n], written
  T* sum = nullptr;          ///< [n], written: the sum of dh over m; or null
  float* scratch = nullptr;  ///< [gelu_backward_scratch_numel(m, n)] where there is a sum
};
/// fp32 elements of scratch that product_gelu_backward wants for c [rows, columns] with a sum.
int64_t gelu_backward_scratch_numel(int64_t rows, int64_t columns);
/// dh = (op(a) op(b)) * gelu'(h): product() into dh, then gelu_backward() in place; then
/// column_sum() of dh, if it is wanted. The fastest of one, two and three calls.
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
/// product() into c, then column_sum() of b: the gradients of a linear layer's weight and bias.
/// Throws Error(kInternal) where b is transposed or not dense.
template <class T>
void product_column_sum(Stream& stream, const ProductSpec& spec, const ProductColumnSum<T>& arrays);

template <class T>
struct ProductIntoSum {
  const T* a;
  const T* b;      ///< [k, n]
  float* c;        ///< [m, n], added to with spec.accumulate, else written
  T* sum;          ///< [n], written: the sum over k of b
  float* scratch;  ///< [column_sum_scratch_numel(k, n)]
  T* rounded;      ///< [m, n], scratch too; null: c is added to by the product
};
/// product() into the fp32 c, then column_sum() of b. Where that was measured to be faster:
/// product_column_sum() into `rounded`, then accumulate(), which rounds before it adds. Here
/// spec.accumulate may be.
template <class T>
void product_into_sum(Stream& stream, const ProductSpec& spec, const ProductIntoSum<T>& arrays);

}  // namespace zero::kernels
