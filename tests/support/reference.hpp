#pragma once
/// What the kernels compute, as plain loops in double.

#include <cmath>
#include <functional>
#include <vector>

namespace zero::testing {

using Doubles = std::vector<double>;

inline double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

inline double gelu_slope(double x) {
  const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x), t = std::tanh(u);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }

inline double gelu_erf_slope(double x) {
  return 0.5 * std::erfc(-x * M_SQRT1_2) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
}

/// Inputs of a layer norm over rows of `width`.
struct Norm {
  size_t width;
  double epsilon;
  Doubles x, weight, bias;

  struct Row {
    double mean, rstd;
  };
  Row row(size_t r) const {
    double mean = 0, variance = 0;
    for (size_t j = 0; j < width; ++j) mean += x[r * width + j] / double(width);
    for (size_t j = 0; j < width; ++j) {
      variance += (x[r * width + j] - mean) * (x[r * width + j] - mean) / double(width);
    }
    return {mean, 1 / std::sqrt(variance + epsilon)};
  }
  Doubles forward() const {
    Doubles y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const Row at = row(i / width);
      y[i] = (x[i] - at.mean) * at.rstd * weight[i % width] + bias[i % width];
    }
    return y;
  }

  struct Gradients {
    Doubles dx, dweight, dbias;
  };
  Gradients backward(const Doubles& dy) const {
    Gradients out{Doubles(x.size()), Doubles(width), Doubles(width)};
    for (size_t r = 0; r < x.size() / width; ++r) {
      const Row at = row(r);
      double mean = 0, along = 0;
      for (size_t j = 0; j < width; ++j) {
        const size_t i = r * width + j;
        const double xhat = (x[i] - at.mean) * at.rstd, h = dy[i] * weight[j];
        mean += h / double(width);
        along += h * xhat / double(width);
        out.dweight[j] += dy[i] * xhat;
        out.dbias[j] += dy[i];
      }
      for (size_t j = 0; j < width; ++j) {
        const size_t i = r * width + j;
        const double xhat = (x[i] - at.mean) * at.rstd;
        out.dx[i] = at.rstd * (dy[i] * weight[j] - mean - xhat * along);
      }
    }
    return out;
  }
};

/// The slope of f at `at` along each coordinate, by central differences.
inline Doubles finite_differences(const std::function<double(const Doubles&)>& f, Doubles at) {
  constexpr double kStep = 1e-5;
  Doubles slope;
  for (double& coordinate : at) {
    const double kept = coordinate;
    coordinate = kept + kStep;
    const double above = f(at);
    coordinate = kept - kStep;
    slope.push_back((above - f(at)) / (2 * kStep));
    coordinate = kept;
  }
  return slope;
}

/// Sum of a[i] b[i].
inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace zero::testing
