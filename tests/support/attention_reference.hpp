#pragma once
/// Causal attention and its gradient as double loops over the whole matrix of probabilities.
/// Source: Vaswani et al. 2017, eq. 1, differentiated by hand.

#include <cmath>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::testing {

struct AttentionCase {
  kernels::AttentionExtents extents;
  kernels::DropoutSite site{.probability = 0.0f, .site = 3, .sample_offset = 2};
  kernels::StepInputs inputs{.seed = 77,
                             .step = 5,
                             .first_sample = 40,
                             .counted_tokens = 1,
                             .pending = 0,
                             .reserved = 0,
                             .pending_step = 0,
                             .pending_tokens = 0};
  /// [samples, heads, length, length], 0 or 1 / (1 - p), where masks are not those of the host.
  std::vector<double> masks = {};

  int64_t width() const { return extents.heads * extents.head_width; }
  int64_t rows() const { return extents.samples * extents.length; }
};

/// 0 or 1 / (1 - p), from the definition in zero/kernels/dropout.hpp; row counts heads and queries.
inline double attention_mask(const AttentionCase& shape, int64_t sample, int64_t row, int64_t key) {
  if (shape.site.probability == 0.0f) return 1.0;
  const int64_t rows = shape.extents.heads * shape.extents.length;
  if (!shape.masks.empty())
    return shape.masks[size_t((sample * rows + row) * shape.extents.length + key)];
  const int64_t element = row * round_up<int64_t>(shape.extents.length, 4) + key;
  const PhiloxBlock words = kernels::dropout_words(
      shape.inputs.seed, shape.site.site,
      shape.inputs.first_sample + shape.site.sample_offset + sample, uint32_t(element / 4));
  const bool kept = words.word[element % 4] >= kernels::dropout_threshold(shape.site.probability);
  return kept ? 1.0 / (1.0 - double(shape.site.probability)) : 0.0;
}

struct AttentionReference {
  std::vector<double> y, logsumexp, dqkv;
};

/// One query of one head.
class ReferenceQuery {
 public:
  ReferenceQuery(const AttentionCase& shape, const std::vector<double>& qkv, int64_t item)
      : shape_(shape), qkv_(qkv) {
    const auto& extents = shape.extents;
    query_ = item % extents.length;
    head_ = item / extents.length % extents.heads;
    sample_ = item / extents.length / extents.heads;
    const int64_t width = extents.real_width > 0 ? extents.real_width : extents.head_width;
    scale_ = 1.0 / std::sqrt(double(width));
  }

  void run(const std::vector<double>& dy, AttentionReference& out) {
    find_probabilities();
    for (int64_t key = 0; key <= query_; ++key)
      for (int64_t j = 0; j < shape_.extents.head_width; ++j)
        out.y[y_at(j)] += kept_[size_t(key)] * qkv_[at(2, key, j)];
    out.logsumexp[size_t((sample_ * shape_.extents.heads + head_) * shape_.extents.length +
                         query_)] = logsumexp_;
    add_gradients(dy, out.dqkv);
  }

 private:
  size_t at(int64_t part, int64_t row, int64_t j) const {
    return size_t((sample_ * shape_.extents.length + row) * 3 * shape_.width() +
                  part * shape_.width() + head_ * shape_.extents.head_width + j);
  }
  size_t y_at(int64_t j) const {
    return size_t((sample_ * shape_.extents.length + query_) * shape_.width() +
                  head_ * shape_.extents.head_width + j);
  }

  void find_probabilities() {
    double sum = 0;
    for (int64_t key = 0; key <= query_; ++key) {
      double score = 0;
      for (int64_t j = 0; j < shape_.extents.head_width; ++j)
        score += qkv_[at(0, query_, j)] * qkv_[at(1, key, j)];
      probability_.push_back(std::exp(scale_ * score));
      sum += probability_.back();
    }
    logsumexp_ = std::log(sum);
    for (int64_t key = 0; key <= query_; ++key) {
      probability_[size_t(key)] /= sum;
      mask_.push_back(attention_mask(shape_, sample_, head_ * shape_.extents.length + query_, key));
      kept_.push_back(probability_[size_t(key)] * mask_.back());
    }
  }

  void add_gradients(const std::vector<double>& dy, std::vector<double>& dqkv) {
    const int64_t d = shape_.extents.head_width;
    std::vector<double> dp;
    double mean = 0;
    for (int64_t key = 0; key <= query_; ++key) {
      double sum = 0;
      for (int64_t j = 0; j < d; ++j) sum += dy[y_at(j)] * qkv_[at(2, key, j)];
      dp.push_back(sum * mask_[size_t(key)]);
      mean += dp.back() * probability_[size_t(key)];
    }
    for (int64_t key = 0; key <= query_; ++key) {
      const double ds = scale_ * probability_[size_t(key)] * (dp[size_t(key)] - mean);
      for (int64_t j = 0; j < d; ++j) {
        dqkv[at(0, query_, j)] += ds * qkv_[at(1, key, j)];
        dqkv[at(1, key, j)] += ds * qkv_[at(0, query_, j)];
        dqkv[at(2, key, j)] += kept_[size_t(key)] * dy[y_at(j)];
      }
    }
  }

  const AttentionCase& shape_;
  const std::vector<double>& qkv_;
  int64_t sample_, head_, query_;
  double scale_, logsumexp_ = 0;
  std::vector<double> probability_, mask_, kept_;
};

inline AttentionReference attention_reference(const AttentionCase& shape,
                                              const std::vector<double>& qkv,
                                              const std::vector<double>& dy) {
  AttentionReference out{
      .y = std::vector<double>(size_t(shape.rows() * shape.width())),
      .logsumexp = std::vector<double>(size_t(shape.rows() * shape.extents.heads)),
      .dqkv = std::vector<double>(qkv.size())};
  for (int64_t item = 0; item < shape.rows() * shape.extents.heads; ++item)
    ReferenceQuery(shape, qkv, item).run(dy, out);
  return out;
}

}  // namespace zero::testing
