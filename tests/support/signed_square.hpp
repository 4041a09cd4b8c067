#pragma once
/// An operation that no file of the program knows: y = x |x|, on a host.

#include <cmath>
#include <string>

#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph::testing {

struct SignedSquare {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    stream.wait();
    const T* const x = inputs<SignedSquare>(call).x;
    T* const y = outputs<SignedSquare>(call).y;
    for (int64_t i = 0; i < (*call.graph)[call.op->inputs[0]].shape.numel(); ++i) {
      y[i] = T(float(x[i]) * std::abs(float(x[i])));
    }
  }
};

struct SignedSquareGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    stream.wait();
    const auto in = inputs<SignedSquareGrad>(call);
    const T *const x = in.x, *const dy = in.dy;
    T* const dx = outputs<SignedSquareGrad>(call).dx;
    for (int64_t i = 0; i < (*call.graph)[call.op->inputs[0]].shape.numel(); ++i) {
      dx[i] = T(2 * std::abs(float(x[i])) * float(dy[i]));
    }
  }
};

inline const Operation kSignedSquareGrad{.name = "signed_square_grad",
                                         .call = call_typed<SignedSquareGrad>};

inline void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<SignedSquare>(op).x;
  const TensorId dx = tape.like(x);
  const TensorId dy = tape.gradient(outputs<SignedSquare>(op).y);
  tape.append(make_op<SignedSquareGrad>(kSignedSquareGrad, {.x = x, .dy = dy}, {.dx = dx}));
  tape.contribute(x, dx);
}

inline const Operation kSignedSquare{.name = "signed_square",
                                     .gradient = gradient,
                                     .repeated_from = Recompute::selective,
                                     .call = call_typed<SignedSquare>};

inline TensorId signed_square(GraphBuilder& out, TensorId x) {
  const TensorId y = out.activation("squared(" + out[x].name + ")", out.compute(), out[x].shape);
  out.add(make_op<SignedSquare>(kSignedSquare, {.x = x}, {.y = y}));
  return y;
}

}  // namespace zero::graph::testing
