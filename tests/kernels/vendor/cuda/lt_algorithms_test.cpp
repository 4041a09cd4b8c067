// Ranks: 1

#include "kernels/vendor/cuda/lt_algorithms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/vendor/epilogue_rules.hpp"
#include "tests/support/device_array.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::poisoned;

template <class T>
double bound() {
  return dtype_of<T>() == Dtype::f16 ? 2e-3 : 1e-2;
}

/// One product with an epilogue, as training has them: forward, gradient of the input, gradients of
/// the parameters. Sides are no multiples of a tile.
template <class T>
struct Trial {
  GemmSpec spec;
  std::vector<T> a, b, bias, h, c, aux, sums;

  explicit Trial(Epilogue epilogue) {
    constexpr int64_t kM = 200, kN = 136, kK = 264;
    const bool backward =
        epilogue == Epilogue::gelu_gradient || epilogue == Epilogue::gelu_gradient_sums;
    spec = {.m = kM,
            .n = kN,
            .k = kK,
            .lda = epilogue == Epilogue::column_sums ? kM : kK,
            .ldb = backward ? kK : kN,
            .ldc = kN,
            .in = dtype_of<T>(),
            .out = dtype_of<T>(),
            .transpose_a = epilogue == Epilogue::column_sums,
            .transpose_b = backward,
            .bias = epilogue == Epilogue::gelu || epilogue == Epilogue::residual,
            .epilogue = epilogue};
    a = noise<T>(kM * kK, 1);
    b = noise<T>(kK * kN, 2, 0.2);
    bias = noise<T>(kN, 3);
    h = noise<T>(kM * kN, 4, 3.0);
    poison();
  }

  void poison() {
    c = poisoned<T>(spec.m * spec.n);
    sums = poisoned<T>(spec.n);
    aux = reads_aux() ? h : poisoned<T>(spec.m * spec.n);
  }

  bool is(Epilogue epilogue) const { return spec.epilogue == epilogue; }
  bool bends_back() const {
    return is(Epilogue::gelu_gradient) || is(Epilogue::gelu_gradient_sums);
  }
  bool reads_aux() const { return bends_back() || is(Epilogue::residual); }
  bool sums_columns() const {
    return is(Epilogue::column_sums) || is(Epilogue::gelu_gradient_sums);
  }

  std::vector<double> product() const {
    return testing::multiply({spec.m, spec.n, spec.k, testing::strides(spec.transpose_a, spec.lda),
                              testing::strides(spec.transpose_b, spec.ldb)},
                             a, b);
  }

  void expect_close() const {
    std::vector<double> x = product(), expected = x;
    for (size_t i = 0; i < x.size(); ++i) {
      if (spec.bias) x[i] += double(float(bias[i % size_t(spec.n)]));
      if (is(Epilogue::gelu)) expected[i] = testing::gelu(x[i]);
      if (is(Epilogue::residual)) expected[i] = x[i] + double(float(h[i]));
      if (bends_back()) expected[i] *= testing::gelu_slope(double(float(h[i])));
    }
    EXPECT_LT(relative_error(c, expected), bound<T>());
    if (is(Epilogue::gelu)) {
      EXPECT_LT(relative_error(aux, x), bound<T>());
    }
    if (reads_aux()) {
      EXPECT_TRUE(testing::same_bits(aux, h)) << "it is read only";
    }
    if (is(Epilogue::column_sums)) expect_sums_of(testing::doubles(b));
    if (is(Epilogue::gelu_gradient_sums)) expect_sums_of(expected);
  }

  /// The rows have spec.n numbers.
  void expect_sums_of(const std::vector<double>& rows) const {
    std::vector<double> column(size_t(spec.n), 0.0);
    for (size_t i = 0; i < rows.size(); ++i) column[i % size_t(spec.n)] += rows[i];
    EXPECT_LT(relative_error(sums, column), bound<T>());
  }
};

/// Its arrays in memory of the device.
template <class T>
class TrialOnDevice {
 public:
  explicit TrialOnDevice(Trial<T>& trial)
      : trial_(trial),
        a_(trial.a),
        b_(trial.b),
        bias_(trial.bias),
        c_(trial.c),
        aux_(trial.aux),
        sums_(trial.sums) {}

  void poison() const {
    trial_.poison();
    c_.set(trial_.c);
    aux_.set(trial_.aux);
    sums_.set(trial_.sums);
  }
  void bring_back() const {
    trial_.c = c_.values();
    trial_.aux = aux_.values();
    trial_.sums = sums_.values();
  }

  GemmOperands operands() const {
    const GemmSpec& spec = trial_.spec;
    return {.a = a_.data(),
            .b = b_.data(),
            .c = c_.data(),
            .bias = spec.bias ? bias_.data() : nullptr,
            .aux = trial_.is(Epilogue::column_sums) ? nullptr : aux_.data(),
            .sums = trial_.sums_columns() ? sums_.data() : nullptr};
  }

 private:
  Trial<T>& trial_;
  testing::DeviceArray<T> a_, b_, bias_, c_, aux_, sums_;
};

constexpr Epilogue kEpilogues[] = {Epilogue::gelu, Epilogue::gelu_gradient, Epilogue::column_sums,
                                   Epilogue::gelu_gradient_sums, Epilogue::residual};

template <class T>
class LtAlgorithms : public ::testing::Test {};
using Halves = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(LtAlgorithms, Halves);

/// Runs each algorithm that the library names, looks at what it gave, and says how many could.
template <class T, class Look>
int run_all(Trial<T>& trial, const Look& look) {
  Stream stream(1);
  adopt_threads(stream);
  const LtQueue queue{.stream = native_stream(stream)};
  const TrialOnDevice<T> there(trial);
  const LtProduct product(trial.spec, alignment_of(there.operands()));
  EXPECT_TRUE(may_fuse(trial.spec, there.operands()));
  product.set_epilogue_operands(there.operands());
  int ran = 0;
  for (const cublasLtMatmulAlgo_t& algorithm : named_algorithms(product, kCandidatesMost)) {
    there.poison();
    const cublasStatus_t status = run_lt(queue, product, algorithm, there.operands());
    stream.wait();
    if (status != CUBLAS_STATUS_SUCCESS) continue;
    there.bring_back();
    SCOPED_TRACE(text(product.name(), ", algorithm ", ran));
    look();
    ++ran;
  }
  return ran;
}

TYPED_TEST(LtAlgorithms, EveryOneThatIsNamedForAnEpilogueAgreesWithDoubleLoops) {
  for (const Epilogue epilogue : kEpilogues) {
    Trial<TypeParam> trial(epilogue);
    const int ran = run_all(trial, [&] { trial.expect_close(); });
    EXPECT_GT(ran, 0) << "epilogue " << int(epilogue) << " is never fused";
  }
}

// The forms are 5e-4 apart at -2.75, where one step in bf16 is 3e-5.
TYPED_TEST(LtAlgorithms, GeluIsTheTanhFormAndNotThatWithTheErrorFunction) {
  Trial<TypeParam> trial(Epilogue::gelu);
  std::ranges::fill(trial.a, TypeParam(0.0f));
  std::ranges::fill(trial.bias, TypeParam(-2.75f));
  const double by_tanh = testing::gelu(-2.75);
  const double by_erf = 0.5 * -2.75 * (1 + std::erf(-2.75 / std::sqrt(2.0)));
  run_all(trial, [&] {
    const double got = double(float(trial.c.front()));
    EXPECT_LT(std::abs(got - by_tanh), std::abs(got - by_erf)) << got;
  });
}

TYPED_TEST(LtAlgorithms, TheFastestIsTimedAndRecalled) {
  Stream stream(1);
  adopt_threads(stream);
  const LtQueue queue{.stream = native_stream(stream)};
  for (const Epilogue epilogue : kEpilogues) {
    Trial<TypeParam> trial(epilogue);
    const TrialOnDevice<TypeParam> there(trial);
    const LtProduct product(trial.spec, alignment_of(there.operands()));
    product.set_epilogue_operands(there.operands());
    const std::optional<Algorithm> best = measure_lt(queue, product, there.operands(), 8);
    if (!best) continue;
    there.bring_back();
    EXPECT_GT(best->microseconds, 0);
    trial.expect_close();
    EXPECT_TRUE(recall_lt(product, *best).has_value());
  }
}

}  // namespace
}  // namespace zero::kernels::vendor
