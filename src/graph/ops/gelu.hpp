#pragma once

#include "zero/graph/operation.hpp"

namespace zero::graph {

/// Operands of kGelu, which fuse with the product in front of it.
struct Gelu {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

/// Operands of kGeluGrad.
struct GeluGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

}  // namespace zero::graph
