#pragma once

#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"

namespace zero {

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls body(TypeTag<T>) for the element type that `dtype` names; Error(kInternal) for one that no
/// kernel computes in.
template <class Body>
void with_type(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::f32:
      return body(TypeTag<float>{});
    case Dtype::bf16:
      return body(TypeTag<bf16>{});
    case Dtype::f16:
      return body(TypeTag<f16>{});
    default:
      ZERO_REQUIRE(false, "no kernel computes in ", name_of(dtype), ": fp32, bf16 or fp16");
  }
}

/// Calls body(TypeTag<T>, TypeTag<G>) for a compute type and the type in which gradients rest,
/// which is the same or fp32.
template <class Body>
void with_gradient_type(Dtype compute, Dtype gradient, const Body& body) {
  ZERO_REQUIRE(gradient == compute || gradient == Dtype::f32, "gradients rest in ",
               name_of(gradient), " where ", name_of(compute), " computes: that or fp32");
  with_type(compute, [&](auto t) {
    if (gradient == Dtype::f32) return body(t, TypeTag<float>{});
    body(t, t);
  });
}

}  // namespace zero
