// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/device_array.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/dropout.hpp"
#include "zero/kernels/elementwise.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

using testing::DeviceArray;
using testing::poisoned;

/// What a kernel may be off in the relative norm.
template <class T>
double bound() {
  return dtype_of<T>() == Dtype::f32 ? 1e-5 : dtype_of<T>() == Dtype::f16 ? 2e-3 : 1e-2;
}

struct Shape3 {
  int64_t m, n, k;
};
constexpr Shape3 kShapes[] = {{.m = 24, .n = 64, .k = 40},
                              {.m = 130, .n = 96, .k = 56},
                              {.m = 7, .n = 9, .k = 5},
                              {.m = 300, .n = 136, .k = 264}};

/// Operands of a linear layer [m, k] x [k, n] and of its backward pass: x and dy are [m, ...].
template <class T>
struct Layer {
  Shape3 shape;
  std::vector<T> x, weight, bias, h, dy;

  explicit Layer(const Shape3& s)
      : shape(s),
        x(noise<T>(s.m * s.k, 1)),
        weight(noise<T>(s.k * s.n, 2)),
        bias(noise<T>(s.n, 3)),
        h(noise<T>(s.m * s.k, 4, 3.0)),
        dy(noise<T>(s.m * s.n, 5)) {}

  ProductSpec forward() const { return {.m = shape.m, .n = shape.n, .k = shape.k}; }
  /// dy weight^T, [m, k].
  ProductSpec input_grad() const {
    return {.m = shape.m, .n = shape.k, .k = shape.n, .transpose_b = true};
  }
  /// x^T dy, [k, n].
  ProductSpec weight_grad() const {
    return {.m = shape.k, .n = shape.n, .k = shape.m, .transpose_a = true};
  }
};

template <class T>
struct Results {
  std::vector<T> hidden, y, added, dh, dh_again, dh_sum, dweight, dbias;

  explicit Results(const Shape3& s)
      : hidden(poisoned<T>(s.m * s.n)),
        y(poisoned<T>(s.m * s.n)),
        added(poisoned<T>(s.m * s.n)),
        dh(poisoned<T>(s.m * s.k)),
        dh_again(poisoned<T>(s.m * s.k)),
        dh_sum(poisoned<T>(s.k)),
        dweight(poisoned<T>(s.k * s.n)),
        dbias(poisoned<T>(s.n)) {}
};

/// All fused products on poisoned arrays of the device; the first calls, and so what a GPU
/// measures, too.
template <class T>
Results<T> fused(const Layer<T>& in, int threads = 1) {
  Stream stream(threads);
  adopt_threads(stream);
  Results<T> out(in.shape);
  const DeviceArray<T> x(in.x), weight(in.weight), bias(in.bias), h(in.h), dy(in.dy);
  const DeviceArray<T> hidden(out.hidden), y(out.y), added(out.added), dh(out.dh),
      dh_again(out.dh_again), dh_sum(out.dh_sum), dweight(out.dweight), dbias(out.dbias);
  const DeviceArray<float> scratch(
      poisoned<float>(gelu_backward_scratch_numel(in.shape.m, std::max(in.shape.n, in.shape.k))));
  product_add<T>(stream, in.forward(),
                 {x.data(), weight.data(), bias.data(), dy.data(), added.data()});
  product_gelu_backward<T>(
      stream, in.input_grad(),
      {dy.data(), weight.data(), h.data(), dh_again.data(), dh_sum.data(), scratch.data()});
  product_gelu<T>(stream, in.forward(),
                  {x.data(), weight.data(), bias.data(), hidden.data(), y.data()});
  product_gelu_backward<T>(stream, in.input_grad(),
                           {dy.data(), weight.data(), h.data(), dh.data()});
  product_column_sum<T>(stream, in.weight_grad(),
                        {x.data(), dy.data(), dweight.data(), dbias.data(), scratch.data()});
  stream.wait();
  out.hidden = hidden.values();
  out.y = y.values();
  out.added = added.values();
  out.dh = dh.values();
  out.dh_again = dh_again.values();
  out.dh_sum = dh_sum.values();
  out.dweight = dweight.values();
  out.dbias = dbias.values();
  return out;
}

/// The kernels that these stand for, called one by one.
template <class T>
Results<T> apart(const Layer<T>& in) {
  Stream stream(1);
  adopt_threads(stream);
  Results<T> out(in.shape);
  auto product_alone = poisoned<T>(in.shape.m * in.shape.k);
  auto scratch =
      poisoned<float>(column_sum_scratch_numel(in.shape.m, std::max(in.shape.n, in.shape.k)));
  product<T, T>(stream, in.forward(), in.x.data(), in.weight.data(), in.bias.data(),
                out.hidden.data());
  activate<T>(stream, Activation::gelu, int64_t(out.y.size()), out.hidden.data(), out.y.data());
  product<T, T>(stream, in.input_grad(), in.dy.data(), in.weight.data(), nullptr,
                product_alone.data());
  activate_backward<T>(stream, Activation::gelu, int64_t(out.dh.size()),
                       {in.h.data(), product_alone.data(), out.dh.data()});
  column_sum<T>(stream, in.shape.m, in.shape.k, out.dh.data(), out.dh_sum.data(), scratch.data());
  dropout_add<T>(stream, {}, {.samples = 1, .numel_per_sample = int64_t(out.added.size())}, nullptr,
                 out.hidden.data(), in.dy.data(), out.added.data());
  product<T, T>(stream, in.weight_grad(), in.x.data(), in.dy.data(), nullptr, out.dweight.data());
  column_sum<T>(stream, in.shape.m, in.shape.n, in.dy.data(), out.dbias.data(), scratch.data());
  stream.wait();
  out.dh_again = out.dh;
  return out;
}

/// By double loops; what is between two steps is not rounded.
template <class T>
void expect_close(const Layer<T>& in, const Results<T>& got) {
  const auto [m, n, k] = in.shape;
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", m, " x ", n, " x ", k));
  std::vector<double> hidden = testing::multiply({m, n, k, {k, 1}, {n, 1}}, in.x, in.weight);
  std::vector<double> y(hidden.size());
  for (size_t i = 0; i < y.size(); ++i) {
    hidden[i] += double(float(in.bias[i % size_t(n)]));
    y[i] = testing::gelu(hidden[i]);
  }
  std::vector<double> dh = testing::multiply({m, k, n, {n, 1}, {1, n}}, in.dy, in.weight);
  for (size_t i = 0; i < dh.size(); ++i) dh[i] *= testing::gelu_slope(double(float(in.h[i])));
  std::vector<double> dbias(size_t(n), 0.0);
  for (size_t i = 0; i < in.dy.size(); ++i) dbias[i % size_t(n)] += double(float(in.dy[i]));
  std::vector<double> added = hidden, dh_sum(size_t(k), 0.0);
  for (size_t i = 0; i < added.size(); ++i) added[i] += double(float(in.dy[i]));
  for (size_t i = 0; i < dh.size(); ++i) dh_sum[i % size_t(k)] += dh[i];
  EXPECT_LT(relative_error(got.added, added), bound<T>());
  EXPECT_LT(relative_error(got.dh_again, dh), bound<T>());
  EXPECT_LT(relative_error(got.dh_sum, dh_sum), bound<T>());
  EXPECT_LT(relative_error(got.hidden, hidden), bound<T>());
  EXPECT_LT(relative_error(got.y, y), bound<T>());
  EXPECT_LT(relative_error(got.dh, dh), bound<T>());
  EXPECT_LT(relative_error(got.dweight, testing::multiply({k, n, m, {1, k}, {n, 1}}, in.x, in.dy)),
            bound<T>());
  EXPECT_LT(relative_error(got.dbias, dbias), bound<T>());
}

template <class T>
class FusedProduct : public ::testing::Test {
 protected:
  void TearDown() override { set_product_rules({}); }
};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(FusedProduct, Elements);

TYPED_TEST(FusedProduct, AgreesWithDoubleLoopsOneKernelBehindTheOther) {
  for (const Shape3& shape : kShapes) {
    const Layer<TypeParam> in(shape);
    expect_close(in, fused(in));
  }
}

// On a GPU this is the faster way, whichever that is.
TYPED_TEST(FusedProduct, AgreesWithDoubleLoopsTheWayThatWasMeasured) {
  set_product_rules({.measure = true});
  for (const Shape3& shape : kShapes) {
    const Layer<TypeParam> in(shape);
    expect_close(in, fused(in));
    expect_close(in, fused(in));
  }
}

TYPED_TEST(FusedProduct, WithoutMeasuringHasTheBitsOfTheKernelsThatItStandsFor) {
  for (const Shape3& shape : kShapes) {
    const Layer<TypeParam> in(shape);
    const Results<TypeParam> one = fused(in, 2), other = apart(in);
    EXPECT_TRUE(same_bits(one.hidden, other.hidden));
    EXPECT_TRUE(same_bits(one.y, other.y));
    EXPECT_TRUE(same_bits(one.added, other.added));
    EXPECT_TRUE(same_bits(one.dh, other.dh));
    EXPECT_TRUE(same_bits(one.dh_again, other.dh_again));
    EXPECT_TRUE(same_bits(one.dh_sum, other.dh_sum));
    EXPECT_TRUE(same_bits(one.dweight, other.dweight));
    EXPECT_TRUE(same_bits(one.dbias, other.dbias));
  }
}

/// c is added to twice, from what `start` says.
template <class T>
std::vector<float> summed_twice(const Layer<T>& in, bool rounds, std::vector<T>& dbias) {
  Stream stream(1);
  adopt_threads(stream);
  ProductSpec spec = in.weight_grad();
  const DeviceArray<T> x(in.x), dy(in.dy);
  const DeviceArray<float> c(poisoned<float>(spec.m * spec.n));
  const DeviceArray<float> scratch(poisoned<float>(column_sum_scratch_numel(spec.k, spec.n)));
  const DeviceArray<T> rounded(poisoned<T>(spec.m * spec.n)), sums(poisoned<T>(spec.n));
  for (bool adds : {false, true}) {
    spec.accumulate = adds;
    product_into_sum<T>(stream, spec,
                        {x.data(), dy.data(), c.data(), sums.data(), scratch.data(),
                         rounds ? rounded.data() : nullptr});
  }
  stream.wait();
  dbias = sums.values();
  return c.values();
}

// On a GPU the way that is faster; a sum must not have what was added while it was measured.
TYPED_TEST(FusedProduct, IntoASumAddsOnceEachTimeWhateverIsMeasured) {
  for (bool measure : {false, true}) {
    set_product_rules({.measure = measure});
    for (const Shape3& shape : kShapes) {
      const Layer<TypeParam> in(shape);
      const auto [m, n, k] = shape;
      auto expected = testing::multiply({k, n, m, {1, k}, {n, 1}}, in.x, in.dy);
      for (double& value : expected) value *= 2;
      std::vector<double> column(size_t(n), 0.0);
      for (size_t i = 0; i < in.dy.size(); ++i) column[i % size_t(n)] += double(float(in.dy[i]));
      for (bool rounds : {false, true}) {
        std::vector<TypeParam> dbias;
        EXPECT_LT(relative_error(summed_twice(in, rounds, dbias), expected), bound<TypeParam>());
        EXPECT_LT(relative_error(dbias, column), bound<TypeParam>());
      }
    }
  }
}

TYPED_TEST(FusedProduct, RefusesWhatItsSecondHalfCouldNotRead) {
  using T = TypeParam;
  Stream stream(1);
  std::vector<T> x(64), y(64);
  std::vector<float> scratch(64);
  const ProductGelu<T> gelu{x.data(), x.data(), x.data(), y.data(), y.data() + 32};
  const ProductColumnSum<T> sum{x.data(), x.data(), y.data(), y.data() + 32, scratch.data()};
  EXPECT_NO_THROW(product_gelu<T>(stream, {.m = 2, .n = 2, .k = 2}, gelu));
  EXPECT_THROW(product_gelu<T>(stream, {.m = 2, .n = 2, .k = 2, .ldc = 3}, gelu), Error);
  EXPECT_THROW(product_gelu<T>(stream, {.m = 2, .n = 2, .k = 2, .accumulate = true}, gelu), Error);
  EXPECT_NO_THROW(product_column_sum<T>(stream, {.m = 2, .n = 2, .k = 2}, sum));
  EXPECT_THROW(product_column_sum<T>(stream, {.m = 2, .n = 2, .k = 2, .transpose_b = true}, sum),
               Error);
  EXPECT_THROW(product_column_sum<T>(stream, {.m = 2, .n = 2, .k = 2, .ldb = 4}, sum), Error);
  stream.wait();
}

}  // namespace
}  // namespace zero::kernels
