#pragma once
/// RMS norm over rows of `width`, and its gradient, in double loops.

#include "tests/support/reference.hpp"

namespace zero::testing {

struct RmsNorm {
  size_t width;
  double epsilon;
  Doubles x, weight;

  double rrms(size_t r) const {
    double mean = 0;
    for (size_t j = 0; j < width; ++j) mean += x[r * width + j] * x[r * width + j] / double(width);
    return 1 / std::sqrt(mean + epsilon);
  }
  Doubles forward() const {
    Doubles y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * rrms(i / width) * weight[i % width];
    return y;
  }

  struct Gradients {
    Doubles dx, dweight;
  };
  Gradients backward(const Doubles& dy) const {
    Gradients out{Doubles(x.size()), Doubles(width)};
    for (size_t r = 0; r < x.size() / width; ++r) {
      const double at = rrms(r);
      double along = 0;
      for (size_t j = 0; j < width; ++j) {
        const size_t i = r * width + j;
        along += dy[i] * weight[j] * x[i] * at / double(width);
        out.dweight[j] += dy[i] * x[i] * at;
      }
      for (size_t j = 0; j < width; ++j) {
        const size_t i = r * width + j;
        out.dx[i] = at * (dy[i] * weight[j] - x[i] * at * along);
      }
    }
    return out;
  }
};

}  // namespace zero::testing
