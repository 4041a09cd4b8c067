#include "zero/kernels/gelu.hpp"

#include "src/graph/ops/elementwise.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph {
namespace {

struct Gelu {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    call_elementwise<T>(stream, call, kernels::gelu<T>);
  }
};

struct GeluGrad {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    call_elementwise_grad<T>(stream, call, kernels::gelu_backward<T>);
  }
};

}  // namespace

const Operation kGeluGrad{.name = "gelu_grad", .call = call_typed<GeluGrad>};
const Operation kGelu{.name = "gelu",
                      .gradient = elementwise_gradient<kGeluGrad>,
                      .repeated_from = Recompute::selective,
                      .call = call_typed<Gelu>};

TensorId gelu(GraphBuilder& out, TensorId x) { return elementwise(out, kGelu, x); }

}  // namespace zero::graph
