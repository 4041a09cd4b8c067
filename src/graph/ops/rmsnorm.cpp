#include "src/graph/ops/norms.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct RmsnormAttributes {
  double epsilon, offset;
};
struct RmsnormGradAttributes {
  double offset;
};

struct Rmsnorm {
  template <class S>
  struct In {
    S x, weight;
  };
  template <class S>
  struct Out {
    S y, rrms;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Rmsnorm>(call);
    const auto out = outputs<Rmsnorm>(call);
    const auto of = call.op->attributes.as<RmsnormAttributes>();
    kernels::rmsnorm<T>(
        stream, norm_extents(*call.graph, inputs<Rmsnorm>(*call.op).x), float(of.epsilon),
        {.x = in.x, .weight = in.weight, .y = out.y, .rrms = out.rrms, .offset = float(of.offset)});
  }
};

struct RmsnormGrad {
  template <class S>
  struct In {
    S dy, x, weight, rrms;
    S add;  ///< added to dx; may be absent
  };
  template <class S>
  struct Out {
    S dx, dweight;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<RmsnormGrad>(call);
    const auto out = outputs<RmsnormGrad>(call);
    const double offset = call.op->attributes.as<RmsnormGradAttributes>().offset;
    kernels::rmsnorm_backward<T>(stream, norm_extents(*call.graph, inputs<RmsnormGrad>(*call.op).x),
                                 {.dy = in.dy,
                                  .x = in.x,
                                  .weight = in.weight,
                                  .rrms = in.rrms,
                                  .add = in.add,
                                  .dx = out.dx,
                                  .dweight = out.dweight,
                                  .scratch = call.scratch,
                                  .offset = float(offset)});
  }
};

/// Lets the kernel add the gradient of x that the residual branch has collected.
void gradient(GradientTape& tape, const Op& op) {
  const auto [x, weight] = inputs<Rmsnorm>(op);
  const auto [y, rrms] = outputs<Rmsnorm>(op);
  const TensorId dy = tape.gradient(y);
  const TensorId add = tape.take(x);
  const TensorId dx = tape.like(x);
  const double offset = op.attributes.as<RmsnormAttributes>().offset;
  tape.append(make_op<RmsnormGrad>(kRmsnormGrad,
                                   {.dy = dy, .x = x, .weight = weight, .rrms = rrms, .add = add},
                                   {.dx = dx, .dweight = tape.weight_gradient(weight)},
                                   RmsnormGradAttributes{.offset = offset}));
  tape.contribute(x, dx);
}

int64_t gradient_scratch(const Graph& graph, const Op& op, int) {
  return kernels::rmsnorm_scratch_numel(norm_extents(graph, inputs<RmsnormGrad>(op).x)) *
         int64_t(sizeof(float));
}

}  // namespace

const Operation kRmsnorm{.name = "rmsnorm",
                         .gradient = gradient,
                         .repeated_from = Recompute::selective,
                         .call = call_typed<Rmsnorm>};
const Operation kRmsnormGrad{
    .name = "rmsnorm_grad", .scratch_bytes = gradient_scratch, .call = call_typed<RmsnormGrad>};

TensorId rmsnorm(GraphBuilder& out, TensorId x, TensorId weight, float epsilon, float offset) {
  require_matrix(out[x]);
  const Shape shape = out[x].shape;
  require_vector(out[weight], out[x], shape[1]);
  const std::string name = stem(out[weight].name);
  const TensorId y = out.activation(name, out.compute(), shape);
  const TensorId rrms = out.activation(name + ".rrms", Dtype::f32, {shape[0]});
  out.add(make_op<Rmsnorm>(kRmsnorm, {.x = x, .weight = weight}, {.y = y, .rrms = rrms},
                           RmsnormAttributes{.epsilon = epsilon, .offset = offset}));
  return y;
}

}  // namespace zero::graph
