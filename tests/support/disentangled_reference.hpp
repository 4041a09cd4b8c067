#pragma once
/// Disentangled attention and its gradient as double loops over the whole matrix of probabilities.
/// Source: He et al. 2021 (arXiv:2006.03654), eq. 4, differentiated by hand.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/attention_reference.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/kernels/disentangled.hpp"

namespace zero::testing {

struct DisentangledCase {
  kernels::DisentangledExtents extents;
  float dropout = 0.0f;
  std::vector<int32_t> counts = {};  ///< [samples] where extents are counted

  int64_t width() const { return extents.inner_width(); }
  int64_t rows() const { return extents.samples * extents.length; }
  int64_t count(int64_t sample) const {
    return counts.empty() ? extents.length : counts[size_t(sample)];
  }
  /// The case of plain attention that has the same masks.
  AttentionCase plain() const {
    AttentionCase plain{.extents = extents.plain()};
    plain.site.probability = dropout;
    return plain;
  }
};

/// The bucket of a distance in double precision, in the words of the paper's code: exact up to half
/// of the buckets, then by logarithm.
inline int64_t reference_row(const kernels::DistanceTable& table, int64_t distance) {
  const int64_t side = table.buckets > 0 ? table.buckets : table.most_distance;
  int64_t bucket = distance;
  const int64_t exact = table.buckets / 2, size = std::abs(distance);
  if (table.buckets > 0 && size > exact) {
    const double share = std::log(double(size) / double(exact)) /
                         std::log(double(table.most_distance - 1) / double(exact));
    bucket =
        (distance < 0 ? -1 : 1) * (int64_t(std::ceil(share * double(exact - 1) - 1e-9)) + exact);
  }
  return std::clamp<int64_t>(bucket + side, 0, 2 * side - 1);
}

/// Arrays of a call in double: tokens are [rows, width], positions [rows of the table, width].
struct DisentangledDoubles {
  std::vector<double> q, k, v, position_keys, position_queries;
};
struct DisentangledReference {
  std::vector<double> y, logsumexp;
  DisentangledDoubles gradient;
};

/// One head of a sample.
class ReferenceTextHead {
 public:
  ReferenceTextHead(const DisentangledCase& shape, const DisentangledDoubles& in, int64_t sample,
                    int64_t head)
      : shape_(shape),
        plain_(shape.plain()),
        in_(in),
        sample_(sample),
        head_(head),
        tokens_(shape.count(sample)),
        scale_(1.0 / std::sqrt(3.0 * double(shape.extents.head_width))),
        first_(reference_row(shape.extents.table, 1 - shape.extents.length)) {}

  void run(const std::vector<double>& dy, DisentangledReference& out) const {
    for (int64_t i = 0; i < tokens_; ++i) run_query(i, dy, out);
  }

 private:
  size_t token(int64_t i, int64_t c) const {
    return size_t((sample_ * shape_.extents.length + i) * shape_.width() +
                  head_ * shape_.extents.head_width + c);
  }
  size_t position(int64_t i, int64_t j, int64_t c) const {
    return size_t((reference_row(shape_.extents.table, i - j) - first_) * shape_.width() +
                  head_ * shape_.extents.head_width + c);
  }
  double mask(int64_t i, int64_t j) const {
    return attention_mask(plain_, sample_, head_ * shape_.extents.length + i, j);
  }

  void run_query(int64_t i, const std::vector<double>& dy, DisentangledReference& out) const {
    const int64_t d = shape_.extents.head_width;
    std::vector<double> p;
    double sum = 0;
    for (int64_t j = 0; j < tokens_; ++j) {
      double score = 0;
      for (int64_t c = 0; c < d; ++c) {
        const double q = in_.q[token(i, c)], k = in_.k[token(j, c)];
        score += q * k + q * in_.position_keys[position(i, j, c)] +
                 k * in_.position_queries[position(i, j, c)];
      }
      p.push_back(std::exp(scale_ * score));
      sum += p.back();
    }
    out.logsumexp[size_t((sample_ * shape_.extents.heads + head_) * shape_.extents.length + i)] =
        std::log(sum);
    std::vector<double> dp(p.size());
    double mean = 0;
    for (int64_t j = 0; j < tokens_; ++j) {
      p[size_t(j)] /= sum;
      for (int64_t c = 0; c < d; ++c) {
        const double kept = mask(i, j) * p[size_t(j)];
        out.y[token(i, c)] += kept * in_.v[token(j, c)];
        out.gradient.v[token(j, c)] += kept * dy[token(i, c)];
        dp[size_t(j)] += mask(i, j) * dy[token(i, c)] * in_.v[token(j, c)];
      }
      mean += p[size_t(j)] * dp[size_t(j)];
    }
    for (int64_t j = 0; j < tokens_; ++j)
      add_gradients(i, j, scale_ * p[size_t(j)] * (dp[size_t(j)] - mean), out.gradient);
  }

  void add_gradients(int64_t i, int64_t j, double ds, DisentangledDoubles& out) const {
    for (int64_t c = 0; c < shape_.extents.head_width; ++c) {
      const double q = in_.q[token(i, c)], k = in_.k[token(j, c)];
      const size_t at = position(i, j, c);
      out.q[token(i, c)] += ds * (k + in_.position_keys[at]);
      out.k[token(j, c)] += ds * (q + in_.position_queries[at]);
      out.position_keys[at] += ds * q;
      out.position_queries[at] += ds * k;
    }
  }

  const DisentangledCase& shape_;
  AttentionCase plain_;
  const DisentangledDoubles& in_;
  int64_t sample_, head_, tokens_;
  double scale_;
  int64_t first_;
};

inline DisentangledReference disentangled_reference(const DisentangledCase& shape,
                                                    const DisentangledDoubles& in,
                                                    const std::vector<double>& dy) {
  const auto zeros = [](const std::vector<double>& like) {
    return std::vector<double>(like.size());
  };
  DisentangledReference out{
      .y = zeros(in.q),
      .logsumexp = std::vector<double>(size_t(shape.rows() * shape.extents.heads)),
      .gradient = {zeros(in.q), zeros(in.k), zeros(in.v), zeros(in.position_keys),
                   zeros(in.position_queries)}};
  for (int64_t sample = 0; sample < shape.extents.samples; ++sample)
    for (int64_t head = 0; head < shape.extents.heads; ++head)
      ReferenceTextHead(shape, in, sample, head).run(dy, out);
  return out;
}

/// Inputs of a call, noise in T, with NaN for padding, which no kernel may read.
template <class T>
struct DisentangledNoise {
  std::vector<T> q, k, v, dy, position_keys, position_queries;

  explicit DisentangledNoise(const DisentangledCase& shape) {
    uint64_t seed = 0;
    for (std::vector<T>* array : {&q, &k, &v, &dy}) {
      *array = noise<T>(shape.rows() * shape.width(), ++seed, 1.5);
      for (int64_t row = 0; row < shape.rows(); ++row)
        if (row % shape.extents.length >= shape.count(row / shape.extents.length))
          std::fill_n(array->begin() + row * shape.width(), shape.width(), T(NAN));
    }
    for (std::vector<T>* array : {&position_keys, &position_queries})
      *array = noise<T>(shape.extents.rows() * shape.width(), ++seed, 1.5);
  }
  DisentangledReference reference(const DisentangledCase& shape) const {
    return disentangled_reference(
        shape,
        {doubles(q), doubles(k), doubles(v), doubles(position_keys), doubles(position_queries)},
        doubles(dy));
  }
};

/// What a call gives.
template <class T>
struct DisentangledResult {
  std::vector<T> y, dq, dk, dv, dposition_keys, dposition_queries;
  std::vector<float> logsumexp;
};

}  // namespace zero::testing
