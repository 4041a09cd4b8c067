#pragma once
/// Attention and its gradient as double loops over the whole matrix of probabilities.
/// Source: Vaswani et al. 2017, eq. 1, differentiated by hand.

#include <algorithm>
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
  /// [samples, heads, length, keys], 0 or 1 / (1 - p), where masks are not those of the host.
  std::vector<double> masks = {};
  std::vector<float> bias = {};      ///< [heads, diagonals] where extents are biased
  std::vector<int32_t> counts = {};  ///< [samples] where extents are counted

  int64_t width() const { return extents.heads * extents.head_width; }
  int64_t rows() const { return extents.samples * extents.length; }
  int64_t key_rows() const { return extents.samples * extents.key_length(); }
  /// How many keys a query of a sample sees.
  int64_t visible(int64_t sample, int64_t query) const {
    const int64_t keys = counts.empty() ? extents.key_length() : counts[size_t(sample)];
    return extents.causal ? std::min(keys, query + 1) : keys;
  }
};

/// 0 or 1 / (1 - p), from the definition in zero/kernels/dropout.hpp; row counts heads and queries.
inline double attention_mask(const AttentionCase& shape, int64_t sample, int64_t row, int64_t key) {
  if (shape.site.probability == 0.0f) return 1.0;
  const int64_t rows = shape.extents.heads * shape.extents.length;
  const int64_t keys = shape.extents.key_length();
  if (!shape.masks.empty()) return shape.masks[size_t((sample * rows + row) * keys + key)];
  const int64_t element = row * round_up<int64_t>(keys, 4) + key;
  const PhiloxBlock words = kernels::dropout_words(
      shape.inputs.seed, shape.site.site,
      shape.inputs.first_sample + shape.site.sample_offset + sample, uint32_t(element / 4));
  const bool kept = words.word[element % 4] >= kernels::dropout_threshold(shape.site.probability);
  return kept ? 1.0 / (1.0 - double(shape.site.probability)) : 0.0;
}

/// Rows of width() each: of queries, and of keys.
struct AttentionRows {
  std::vector<double> q, k, v;
};

struct AttentionReference {
  std::vector<double> y, logsumexp, dq, dk, dv, dbias;
};

/// One query of one head.
class ReferenceQuery {
 public:
  ReferenceQuery(const AttentionCase& shape, const AttentionRows& in, int64_t item)
      : shape_(shape), in_(in) {
    const auto& extents = shape.extents;
    query_ = item % extents.length;
    head_ = item / extents.length % extents.heads;
    sample_ = item / extents.length / extents.heads;
    visible_ = shape.visible(sample_, query_);
    const int64_t width = extents.real_width > 0 ? extents.real_width : extents.head_width;
    scale_ = 1.0 / (extents.divide_by > 0 ? double(extents.divide_by) : std::sqrt(double(width)));
  }

  void run(const std::vector<double>& dy, AttentionReference& out) {
    if (visible_ == 0) return;
    find_probabilities();
    for (int64_t key = 0; key < visible_; ++key)
      for (int64_t j = 0; j < shape_.extents.head_width; ++j)
        out.y[query_at(j)] += kept_[size_t(key)] * in_.v[key_at(key, j)];
    out.logsumexp[size_t((sample_ * shape_.extents.heads + head_) * shape_.extents.length +
                         query_)] = logsumexp_;
    add_gradients(dy, out);
  }

 private:
  size_t query_at(int64_t j) const {
    return size_t((sample_ * shape_.extents.length + query_) * shape_.width() +
                  head_ * shape_.extents.head_width + j);
  }
  size_t key_at(int64_t key, int64_t j) const {
    return size_t((sample_ * shape_.extents.key_length() + key) * shape_.width() +
                  head_ * shape_.extents.head_width + j);
  }
  size_t diagonal(int64_t key) const {
    return size_t(head_ * shape_.extents.diagonals() + shape_.extents.length - 1 + key - query_);
  }

  void find_probabilities() {
    double sum = 0;
    for (int64_t key = 0; key < visible_; ++key) {
      double score = 0;
      for (int64_t j = 0; j < shape_.extents.head_width; ++j)
        score += in_.q[query_at(j)] * in_.k[key_at(key, j)];
      const double bias = shape_.bias.empty() ? 0.0 : double(shape_.bias[diagonal(key)]);
      probability_.push_back(std::exp(scale_ * score + bias));
      sum += probability_.back();
    }
    logsumexp_ = std::log(sum);
    for (int64_t key = 0; key < visible_; ++key) {
      probability_[size_t(key)] /= sum;
      mask_.push_back(attention_mask(shape_, sample_, head_ * shape_.extents.length + query_, key));
      kept_.push_back(probability_[size_t(key)] * mask_.back());
    }
  }

  void add_gradients(const std::vector<double>& dy, AttentionReference& out) {
    const int64_t d = shape_.extents.head_width;
    std::vector<double> dp;
    double mean = 0;
    for (int64_t key = 0; key < visible_; ++key) {
      double sum = 0;
      for (int64_t j = 0; j < d; ++j) sum += dy[query_at(j)] * in_.v[key_at(key, j)];
      dp.push_back(sum * mask_[size_t(key)]);
      mean += dp.back() * probability_[size_t(key)];
    }
    for (int64_t key = 0; key < visible_; ++key) {
      const double ds = probability_[size_t(key)] * (dp[size_t(key)] - mean);
      if (!shape_.bias.empty()) out.dbias[diagonal(key)] += ds;
      for (int64_t j = 0; j < d; ++j) {
        out.dq[query_at(j)] += scale_ * ds * in_.k[key_at(key, j)];
        out.dk[key_at(key, j)] += scale_ * ds * in_.q[query_at(j)];
        out.dv[key_at(key, j)] += kept_[size_t(key)] * dy[query_at(j)];
      }
    }
  }

  const AttentionCase& shape_;
  const AttentionRows& in_;
  int64_t sample_, head_, query_, visible_;
  double scale_, logsumexp_ = 0;
  std::vector<double> probability_, mask_, kept_;
};

inline AttentionReference attention_reference(const AttentionCase& shape, const AttentionRows& in,
                                              const std::vector<double>& dy) {
  AttentionReference out{
      .y = std::vector<double>(in.q.size()),
      .logsumexp = std::vector<double>(size_t(shape.rows() * shape.extents.heads)),
      .dq = std::vector<double>(in.q.size()),
      .dk = std::vector<double>(in.k.size()),
      .dv = std::vector<double>(in.v.size()),
      .dbias = std::vector<double>(shape.bias.size())};
  for (int64_t item = 0; item < shape.rows() * shape.extents.heads; ++item)
    ReferenceQuery(shape, in, item).run(dy, out);
  return out;
}

/// Part `part` of rows of `parts` times `width`.
template <class E>
std::vector<E> part_of_rows(const std::vector<E>& rows, int64_t width, int64_t parts,
                            int64_t part) {
  std::vector<E> out;
  for (size_t i = 0; i < rows.size(); ++i)
    if (int64_t(i) / width % parts == part) out.push_back(rows[i]);
  return out;
}

/// Rows with one part beside the other.
inline std::vector<double> side_by_side(const std::vector<std::vector<double>>& parts,
                                        int64_t width) {
  std::vector<double> out;
  for (size_t row = 0; row < parts[0].size() / size_t(width); ++row)
    for (const std::vector<double>& part : parts)
      out.insert(out.end(), part.begin() + int64_t(row) * width,
                 part.begin() + int64_t(row + 1) * width);
  return out;
}

struct PackedAttentionReference {
  std::vector<double> y, logsumexp, dqkv, dbias;
};

/// Self-attention's: qkv [rows, 3 width], as dqkv.
inline PackedAttentionReference attention_reference(const AttentionCase& shape,
                                                    const std::vector<double>& qkv,
                                                    const std::vector<double>& dy) {
  const int64_t width = shape.width();
  const AttentionReference out = attention_reference(shape,
                                                     {.q = part_of_rows(qkv, width, 3, 0),
                                                      .k = part_of_rows(qkv, width, 3, 1),
                                                      .v = part_of_rows(qkv, width, 3, 2)},
                                                     dy);
  return {.y = out.y,
          .logsumexp = out.logsumexp,
          .dqkv = side_by_side({out.dq, out.dk, out.dv}, width),
          .dbias = out.dbias};
}

}  // namespace zero::testing
