#include "src/graph/ops/norms.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct Layernorm {
  template <class S>
  struct In {
    S x, weight, bias;
  };
  template <class S>
  struct Out {
    S y, mean, rstd;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Layernorm>(call);
    const auto out = outputs<Layernorm>(call);
    kernels::layernorm<T>(stream, norm_extents(*call.graph, inputs<Layernorm>(*call.op).x),
                          float(call.op->attributes.as<NormAttributes>().epsilon),
                          {.x = in.x,
                           .weight = in.weight,
                           .bias = in.bias,
                           .y = out.y,
                           .mean = out.mean,
                           .rstd = out.rstd});
  }
};

struct LayernormGrad {
  template <class S>
  struct In {
    S dy, x, weight, mean, rstd;
    S add;  ///< added to dx; may be absent
  };
  template <class S>
  struct Out {
    S dx, dweight, dbias;
    S dx_sum = kAbsent<S>;  ///< sum over rows
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<LayernormGrad>(call);
    const auto out = outputs<LayernormGrad>(call);
    kernels::layernorm_backward<T>(stream,
                                   norm_extents(*call.graph, inputs<LayernormGrad>(*call.op).x),
                                   {.dy = in.dy,
                                    .x = in.x,
                                    .weight = in.weight,
                                    .mean = in.mean,
                                    .rstd = in.rstd,
                                    .add = in.add,
                                    .dx = out.dx,
                                    .dweight = out.dweight,
                                    .dbias = out.dbias,
                                    .scratch = call.scratch,
                                    .dx_sum = out.dx_sum});
  }
};

/// Lets the kernel add the gradient of x that the residual branch has collected.
void gradient(GradientTape& tape, const Op& op) {
  const auto [x, weight, bias] = inputs<Layernorm>(op);
  const auto [y, mean, rstd] = outputs<Layernorm>(op);
  const TensorId dy = tape.gradient(y);
  const TensorId add = tape.take(x);
  const TensorId dx = tape.like(x);
  const TensorId dweight = tape.weight_gradient(weight);
  const TensorId dbias = tape.weight_gradient(bias);
  tape.append(make_op<LayernormGrad>(
      kLayernormGrad, {.dy = dy, .x = x, .weight = weight, .mean = mean, .rstd = rstd, .add = add},
      {.dx = dx, .dweight = dweight, .dbias = dbias}, op.attributes));
  tape.contribute(x, dx);
}

int64_t gradient_scratch(const Graph& graph, const Op& op, int) {
  const bool sums_rows = outputs<LayernormGrad>(op).dx_sum != kNone;
  return kernels::layernorm_scratch_numel(norm_extents(graph, inputs<LayernormGrad>(op).x),
                                          sums_rows) *
         int64_t(sizeof(float));
}

/// Takes in the bias gradient of the layer before the norm: the sum of its dy = dx over rows.
bool take_in(Op& op, const Op& reader) {
  auto out = outputs<LayernormGrad>(op);
  if (out.dx_sum != kNone) return false;
  out.dx_sum = sum_over_rows(reader, out.dx);
  set_outputs<LayernormGrad>(op, out);
  return out.dx_sum != kNone;
}

}  // namespace

const Operation kLayernorm{.name = "layernorm",
                           .gradient = gradient,
                           .repeated_from = Recompute::selective,
                           .call = call_typed<Layernorm>};
const Operation kLayernormGrad{.name = "layernorm_grad",
                               .scratch_bytes = gradient_scratch,
                               .take_in = take_in,
                               .call = call_typed<LayernormGrad>};

TensorId layernorm(GraphBuilder& out, TensorId x, TensorId weight, TensorId bias, float epsilon) {
  require_matrix(out[x]);
  const Shape shape = out[x].shape;
  require_vector(out[weight], out[x], shape[1]);
  require_vector(out[bias], out[x], shape[1]);
  const std::string name = stem(out[weight].name);
  const TensorId y = out.activation(name, out.compute(), shape);
  const TensorId mean = out.activation(name + ".mean", Dtype::f32, {shape[0]});
  const TensorId rstd = out.activation(name + ".rstd", Dtype::f32, {shape[0]});
  out.add(make_op<Layernorm>(kLayernorm, {.x = x, .weight = weight, .bias = bias},
                             {.y = y, .mean = mean, .rstd = rstd},
                             NormAttributes{.epsilon = epsilon}));
  return y;
}

}  // namespace zero::graph
