#include "zero/kernels/squared_relu.hpp"

#include "src/graph/ops/elementwise.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph {
namespace {

struct SquaredRelu {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    call_elementwise<T>(stream, call, kernels::squared_relu<T>);
  }
};

struct SquaredReluGrad {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    call_elementwise_grad<T>(stream, call, kernels::squared_relu_backward<T>);
  }
};

}  // namespace

const Operation kSquaredReluGrad{.name = "squared_relu_grad", .call = call_typed<SquaredReluGrad>};
const Operation kSquaredRelu{.name = "squared_relu",
                             .gradient = elementwise_gradient<kSquaredReluGrad>,
                             .repeated_from = Recompute::selective,
                             .call = call_typed<SquaredRelu>};

TensorId squared_relu(GraphBuilder& out, TensorId x) { return elementwise(out, kSquaredRelu, x); }

}  // namespace zero::graph
