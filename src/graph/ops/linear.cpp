#include "src/graph/ops/kinds.hpp"
#include "zero/base/align.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/product.hpp"

namespace zero::graph {
namespace {

using kernels::ProductSpec;

// Operands of y = x weight + bias and of its three gradients.

struct Linear {
  template <class S>
  struct In {
    S x, weight;
    S bias;  ///< may be absent
  };
  template <class S>
  struct Out {
    S y;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct LinearInputGrad {
  template <class S>
  struct In {
    S dy, weight;
  };
  template <class S>
  struct Out {
    S dx;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct LinearWeightGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dweight;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct LinearBiasGrad {
  template <class S>
  struct In {
    S dy;
  };
  template <class S>
  struct Out {
    S dbias;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

// Operands of the kinds that fuse() makes.

struct LinearGelu {
  template <class S>
  using In = Linear::In<S>;
  template <class S>
  struct Out {
    S h, y;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct LinearAdd {
  template <class S>
  struct In {
    S x, weight;
    S bias;  ///< may be absent
    S residual;
  };
  template <class S>
  using Out = Linear::Out<S>;
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct LinearInputGeluGrad {
  template <class S>
  struct In {
    S dy, weight, h;
  };
  template <class S>
  struct Out {
    S dh;
    S dh_sum = kAbsent<S>;  ///< sum over rows
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct LinearParameterGrad {
  template <class S>
  using In = LinearWeightGrad::In<S>;
  template <class S>
  struct Out {
    S dweight, dbias;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

/// Returns the product x weight.
template <class Kind>
ProductSpec forward_spec(const Graph& graph, const Op& op) {
  const auto in = inputs<Kind>(op);
  const Shape &a = graph[in.x].shape, &b = graph[in.weight].shape;
  return {.m = a[0], .n = b[1], .k = a[1]};
}

/// Returns the product dy weight^T.
template <class Kind>
ProductSpec input_spec(const Graph& graph, const Op& op) {
  const auto in = inputs<Kind>(op);
  const Shape &dy = graph[in.dy].shape, &weight = graph[in.weight].shape;
  return {.m = dy[0], .n = weight[0], .k = dy[1], .transpose_b = true};
}

/// Returns the product x^T dy of kLinearWeightGrad and kLinearParameterGrad.
ProductSpec weight_spec(const Graph& graph, const Op& op) {
  const auto [x, dy] = inputs<LinearWeightGrad>(op);
  const Shape &a = graph[x].shape, &b = graph[dy].shape;
  return {.m = a[1], .n = b[1], .k = a[0], .transpose_a = true};
}

template <ProductSpec (*spec_of)(const Graph&, const Op&)>
double flops(const Graph& graph, const Op& op) {
  const ProductSpec spec = spec_of(graph, op);
  return 2.0 * double(spec.m) * double(spec.n) * double(spec.k);
}

/// Returns the bytes of scratch for the sum over rows of dy.
int64_t sum_scratch(const Graph& graph, TensorId dy) {
  const Shape& shape = graph[dy].shape;
  return kernels::column_sum_scratch_numel(shape[0], shape[1]) * int64_t(sizeof(float));
}

int64_t bias_scratch(const Graph& graph, const Op& op, int) {
  return sum_scratch(graph, inputs<LinearBiasGrad>(op).dy);
}

int64_t input_gelu_scratch(const Graph& graph, const Op& op, int) {
  const auto out = outputs<LinearInputGeluGrad>(op);
  if (out.dh_sum == kNone) return 0;
  const Shape& shape = graph[out.dh].shape;
  return kernels::gelu_backward_scratch_numel(shape[0], shape[1]) * int64_t(sizeof(float));
}

/// The scratch: sums over rows of dy, and from byte `rounded` on a 16-bit weight gradient if
/// products cannot add to an fp32 sum.
struct ParameterScratch {
  int64_t rounded, bytes;
};

ParameterScratch parameter_scratch(const Graph& graph, const Op& op) {
  const Tensor& weight = graph[outputs<LinearParameterGrad>(op).dweight];
  const int64_t sums = sum_scratch(graph, inputs<LinearParameterGrad>(op).dy);
  if (weight.dtype == Dtype::f32) return {.rounded = sums, .bytes = sums};
  const int64_t rounded = round_up(sums, kExtentAlignBytes);
  return {.rounded = rounded, .bytes = rounded + weight.bytes()};
}

int64_t parameter_bytes(const Graph& graph, const Op& op, int) {
  return parameter_scratch(graph, op).bytes;
}

template <class T>
void Linear::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<Linear>(call);
  kernels::product<T, T>(stream, forward_spec<Linear>(*call.graph, *call.op), in.x, in.weight,
                         in.bias, outputs<Linear>(call).y);
}

template <class T>
void LinearInputGrad::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<LinearInputGrad>(call);
  kernels::product<T, T>(stream, input_spec<LinearInputGrad>(*call.graph, *call.op), in.dy,
                         in.weight, nullptr, outputs<LinearInputGrad>(call).dx);
}

template <class T>
void LinearWeightGrad::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<LinearWeightGrad>(call);
  const Address dweight = outputs<LinearWeightGrad>(call).dweight;
  ProductSpec spec = weight_spec(*call.graph, *call.op);
  if (call.sums) {
    spec.accumulate = call.add;
    return kernels::product<T, float>(stream, spec, in.x, in.dy, nullptr, dweight);
  }
  kernels::product<T, T>(stream, spec, in.x, in.dy, nullptr, dweight);
}

template <class T>
void LinearBiasGrad::call(Stream& stream, const OpCall& call) {
  const Shape& dy = (*call.graph)[inputs<LinearBiasGrad>(*call.op).dy].shape;
  kernels::column_sum<T>(stream, dy[0], dy[1], inputs<LinearBiasGrad>(call).dy,
                         outputs<LinearBiasGrad>(call).dbias, call.scratch);
}

template <class T>
void LinearGelu::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<LinearGelu>(call);
  const auto out = outputs<LinearGelu>(call);
  kernels::product_gelu<T>(stream, forward_spec<LinearGelu>(*call.graph, *call.op),
                           {.a = in.x, .b = in.weight, .bias = in.bias, .h = out.h, .y = out.y});
}

template <class T>
void LinearAdd::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<LinearAdd>(call);
  kernels::product_add<T>(stream, forward_spec<LinearAdd>(*call.graph, *call.op),
                          {.a = in.x,
                           .b = in.weight,
                           .bias = in.bias,
                           .residual = in.residual,
                           .y = outputs<LinearAdd>(call).y});
}

template <class T>
void LinearInputGeluGrad::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<LinearInputGeluGrad>(call);
  const auto out = outputs<LinearInputGeluGrad>(call);
  kernels::product_gelu_backward<T>(stream, input_spec<LinearInputGeluGrad>(*call.graph, *call.op),
                                    {.a = in.dy,
                                     .b = in.weight,
                                     .h = in.h,
                                     .dh = out.dh,
                                     .sum = out.dh_sum,
                                     .scratch = call.scratch});
}

/// Sums apart, because no library adds one result and writes the other in another dtype.
template <class T>
void LinearParameterGrad::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<LinearParameterGrad>(call);
  const auto out = outputs<LinearParameterGrad>(call);
  ProductSpec spec = weight_spec(*call.graph, *call.op);
  if (call.sums) {
    spec.accumulate = call.add;
    const ParameterScratch at = parameter_scratch(*call.graph, *call.op);
    const Address rounded{static_cast<std::byte*>(call.scratch.at) + at.rounded};
    return kernels::product_into_sum<T>(stream, spec,
                                        {.a = in.x,
                                         .b = in.dy,
                                         .c = out.dweight,
                                         .sum = out.dbias,
                                         .scratch = call.scratch,
                                         .rounded = at.rounded < at.bytes ? rounded : Address{}});
  }
  kernels::product_column_sum<T>(
      stream, spec,
      {.a = in.x, .b = in.dy, .c = out.dweight, .sum = out.dbias, .scratch = call.scratch});
}

template <ProductSpec (*spec_of)(const Graph&, const Op&)>
void prepare(Stream& stream, const OpCall& call, bool bias) {
  ProductSpec spec = spec_of(*call.graph, *call.op);
  const Dtype dtype = compute_dtype(*call.graph, *call.op);
  spec.accumulate = call.sums && call.add;
  kernels::prepare_product(stream, spec, dtype, call.sums ? Dtype::f32 : dtype, bias);
}

void prepare_forward(Stream& stream, const OpCall& call) {
  prepare<forward_spec<Linear>>(stream, call, inputs<Linear>(*call.op).bias != kNone);
}

template <ProductSpec (*spec_of)(const Graph&, const Op&)>
void prepare_gradient(Stream& stream, const OpCall& call) {
  prepare<spec_of>(stream, call, false);
}

/// Puts the weight's gradient first, because then x is no longer read and dx can take its bytes.
void gradient(GradientTape& tape, const Op& op) {
  const auto [x, weight, bias] = inputs<Linear>(op);
  const TensorId dy = tape.gradient(outputs<Linear>(op).y);
  tape.append(make_op<LinearWeightGrad>(kLinearWeightGrad, {.x = x, .dy = dy},
                                        {.dweight = tape.weight_gradient(weight)}));
  if (bias != kNone) {
    tape.append(make_op<LinearBiasGrad>(kLinearBiasGrad, {.dy = dy},
                                        {.dbias = tape.weight_gradient(bias)}));
  }
  if (tape.graph()[x].role == Role::input) return;
  const TensorId dx = tape.like(x);
  tape.append(make_op<LinearInputGrad>(kLinearInputGrad, {.dy = dy, .weight = weight}, {.dx = dx}));
  tape.contribute(x, dx);
}

std::optional<Op> fuse_forward(const Op& first, const Op& second, bool shared) {
  const auto in = inputs<Linear>(first);
  const TensorId made = outputs<Linear>(first).y;
  if (second.kind == &kGelu && inputs<Elementwise>(second).x == made) {
    return make_op<LinearGelu>(kLinearGelu, in, {.h = made, .y = outputs<Elementwise>(second).y});
  }
  const Addition sum = addition_to(second, made);
  if (sum.residual == kNone || shared) return std::nullopt;
  return make_op<LinearAdd>(
      kLinearAdd, {.x = in.x, .weight = in.weight, .bias = in.bias, .residual = sum.residual},
      {.y = sum.y});
}

std::optional<Op> fuse_gelu_grad(const Op& first, const Op& second, bool shared) {
  if (second.kind != &kGeluGrad || shared) return std::nullopt;
  const auto [h, dy] = inputs<ElementwiseGrad>(second);
  if (dy != outputs<LinearInputGrad>(first).dx) return std::nullopt;
  const auto in = inputs<LinearInputGrad>(first);
  return make_op<LinearInputGeluGrad>(kLinearInputGeluGrad,
                                      {.dy = in.dy, .weight = in.weight, .h = h},
                                      {.dh = outputs<ElementwiseGrad>(second).dx});
}

std::optional<Op> fuse_bias_grad(const Op& first, const Op& second, bool) {
  const auto in = inputs<LinearWeightGrad>(first);
  if (second.kind != &kLinearBiasGrad || inputs<LinearBiasGrad>(second).dy != in.dy) {
    return std::nullopt;
  }
  return make_op<LinearParameterGrad>(kLinearParameterGrad, in,
                                      {.dweight = outputs<LinearWeightGrad>(first).dweight,
                                       .dbias = outputs<LinearBiasGrad>(second).dbias});
}

bool take_in(Op& op, const Op& reader) {
  auto out = outputs<LinearInputGeluGrad>(op);
  if (out.dh_sum != kNone) return false;
  out.dh_sum = sum_over_rows(reader, out.dh);
  set_outputs<LinearInputGeluGrad>(op, out);
  return out.dh_sum != kNone;
}

}  // namespace

const Operation kLinear{.name = "linear",
                        .flops = flops<forward_spec<Linear>>,
                        .gradient = gradient,
                        .fuse = fuse_forward,
                        .linear = true,
                        .call = call_typed<Linear>,
                        .prepare = prepare_forward};
const Operation kLinearInputGrad{.name = "linear_input_grad",
                                 .flops = flops<input_spec<LinearInputGrad>>,
                                 .fuse = fuse_gelu_grad,
                                 .call = call_typed<LinearInputGrad>,
                                 .prepare = prepare_gradient<input_spec<LinearInputGrad>>};
const Operation kLinearWeightGrad{.name = "linear_weight_grad",
                                  .flops = flops<weight_spec>,
                                  .sums = true,
                                  .fuse = fuse_bias_grad,
                                  .call = call_typed<LinearWeightGrad>,
                                  .prepare = prepare_gradient<weight_spec>};
const Operation kLinearBiasGrad{
    .name = "linear_bias_grad", .scratch_bytes = bias_scratch, .call = call_typed<LinearBiasGrad>};
const Operation kLinearGelu{.name = "linear_gelu",
                            .flops = flops<forward_spec<LinearGelu>>,
                            .call = call_typed<LinearGelu>};
const Operation kLinearAdd{
    .name = "linear_add", .flops = flops<forward_spec<LinearAdd>>, .call = call_typed<LinearAdd>};
const Operation kLinearInputGeluGrad{.name = "linear_input_gelu_grad",
                                     .flops = flops<input_spec<LinearInputGeluGrad>>,
                                     .scratch_bytes = input_gelu_scratch,
                                     .take_in = take_in,
                                     .call = call_typed<LinearInputGeluGrad>};
const Operation kLinearParameterGrad{.name = "linear_parameter_grad",
                                     .flops = flops<weight_spec>,
                                     .scratch_bytes = parameter_bytes,
                                     .sums = true,
                                     .call = call_typed<LinearParameterGrad>};

TensorId sum_over_rows(const Op& op, TensorId dy) {
  const bool sums = op.kind == &kLinearBiasGrad && inputs<LinearBiasGrad>(op).dy == dy;
  return sums ? outputs<LinearBiasGrad>(op).dbias : kNone;
}

TensorId linear(GraphBuilder& out, TensorId x, TensorId weight, TensorId bias) {
  require_matrix(out[x]);
  require_matrix(out[weight]);
  const int64_t rows = out[x].shape[0], columns = out[weight].shape[1];
  ZERO_REQUIRE(out[x].shape[1] == out[weight].shape[0], describe(out[x]), " times ",
               describe(out[weight]), ": inner extents differ");
  if (bias != kNone) require_vector(out[bias], out[weight], columns);
  const TensorId y = out.activation(stem(out[weight].name), out.compute(), {rows, columns});
  out.add(out.continues()
              ? row_linear(x, weight, bias, y)
              : make_op<Linear>(kLinear, {.x = x, .weight = weight, .bias = bias}, {.y = y}));
  return y;
}

}  // namespace zero::graph
