#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {

/// Whether the library behind product() can do more than a product in one call. Where it cannot,
/// each function here is the kernels that it stands for, one behind the other.
bool fuses_products();

// T is float, bf16 or f16; `spec` as product() takes it, without accumulate; c and what is beside
// it are dense and of T. No two arrays overlap. Asynchronous on `stream`; allocates nothing after
// the first call with a spec on a thread.
//
// With ProductRules::measure the first call times both ways, in one call of the library and one
// kernel behind the other, and the faster one is kept with the algorithms of product(); else it is
// always the second. In one call what is between the two is not rounded to T.

template <class T>
struct ProductGelu {
  const T* a;
  const T* b;
  const T* bias;  ///< [n]
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
  const T* bias;      ///< [n]
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
  float* scratch = nullptr;  ///< [column_sum_scratch_numel(m, n)] where there is a sum
};
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
