#pragma once

namespace zero::graph {

/// Operands of kinds of y = f(x), each element alone.
struct Elementwise {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };
};

/// Those of dx = dy f'(x).
struct ElementwiseGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };
};

}  // namespace zero::graph
