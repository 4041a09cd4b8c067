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
                             .rejected = 0,
                             .audited = 0,
                             .pending_step = 0,
                             .pending_tokens = 0};
  /// [samples, heads, length, keys], 0 or 1 / (1 - p), where masks are not those of the host.
  std::vector<double> masks = {};
  std::vector<float> bias = {};      ///< [heads, diagonals] where extents are biased
  std::vector<int32_t> counts = {};  ///< [samples] where extents are counted
  std::vector<int32_t> first = {};   ///< [samples * length] where extents are ranged

  /// The width of k and of v; q's is width().
  int64_t key_width() const { return extents.key_width(); }
  int64_t packed_width() const { return width() + 2 * key_width(); }
  int64_t width() const { return extents.heads * extents.head_width; }
  int64_t rows() const { return extents.samples * extents.length; }
  int64_t key_rows() const { return extents.samples * extents.key_length(); }
  /// The first key that a query of a sample sees.
  int64_t begin(int64_t sample, int64_t query) const {
    const int64_t own = first.empty() ? 0 : first[size_t(sample * extents.length + query)];
    return std::max(own, extents.window > 0 ? query - extents.window + 1 : 0);
  }
  /// The place behind the last key that it sees.
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

/// Rows of queries, and of keys.
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
    key_head_ = head_ / extents.queries_of_key();
    begin_ = shape.begin(sample_, query_);
    visible_ = shape.visible(sample_, query_);
    const int64_t width = extents.real_width > 0 ? extents.real_width : extents.head_width;
    scale_ = 1.0 / (extents.divide_by > 0 ? double(extents.divide_by) : std::sqrt(double(width)));
  }

  void run(const std::vector<double>& dy, AttentionReference& out) {
    if (visible_ <= begin_) return;
    find_probabilities();
    for (int64_t key = begin_; key < visible_; ++key)
      for (int64_t j = 0; j < shape_.extents.head_width; ++j)
        out.y[query_at(j)] += kept_[at(key)] * in_.v[key_at(key, j)];
    out.logsumexp[size_t((sample_ * shape_.extents.heads + head_) * shape_.extents.length +
                         query_)] = logsumexp_;
    add_gradients(dy, out);
  }

 private:
  size_t at(int64_t key) const { return size_t(key - begin_); }
  size_t query_at(int64_t j) const {
    return size_t((sample_ * shape_.extents.length + query_) * shape_.width() +
                  head_ * shape_.extents.head_width + j);
  }
  size_t key_at(int64_t key, int64_t j) const {
    return size_t((sample_ * shape_.extents.key_length() + key) * shape_.key_width() +
                  key_head_ * shape_.extents.head_width + j);
  }
  size_t diagonal(int64_t key) const {
    return size_t(head_ * shape_.extents.diagonals() + shape_.extents.length - 1 + key - query_);
  }

  void find_probabilities() {
    double sum = 0;
    for (int64_t key = begin_; key < visible_; ++key) {
      double dot = 0;
      for (int64_t j = 0; j < shape_.extents.head_width; ++j)
        dot += in_.q[query_at(j)] * in_.k[key_at(key, j)];
      const double bias = shape_.bias.empty() ? 0.0 : double(shape_.bias[diagonal(key)]);
      probability_.push_back(std::exp(capped(scale_ * dot) + bias));
      sum += probability_.back();
    }
    logsumexp_ = std::log(sum);
    for (int64_t key = begin_; key < visible_; ++key) {
      probability_[at(key)] /= sum;
      mask_.push_back(attention_mask(shape_, sample_, head_ * shape_.extents.length + query_, key));
      kept_.push_back(probability_[at(key)] * mask_.back());
    }
  }

  /// The capped score, and its slope for the gradient of the same key.
  double capped(double score) {
    const auto cap = double(shape_.extents.cap);
    const double part = cap > 0 ? std::tanh(score / cap) : 0;
    slope_.push_back(1 - part * part);
    return cap > 0 ? cap * part : score;
  }

  void add_gradients(const std::vector<double>& dy, AttentionReference& out) {
    const int64_t d = shape_.extents.head_width;
    std::vector<double> dp;
    double mean = 0;
    for (int64_t key = begin_; key < visible_; ++key) {
      double sum = 0;
      for (int64_t j = 0; j < d; ++j) sum += dy[query_at(j)] * in_.v[key_at(key, j)];
      dp.push_back(sum * mask_[at(key)]);
      mean += dp.back() * probability_[at(key)];
    }
    for (int64_t key = begin_; key < visible_; ++key) {
      const double ds = probability_[at(key)] * (dp[at(key)] - mean);
      if (!shape_.bias.empty()) out.dbias[diagonal(key)] += ds;
      const double factor = scale_ * ds * slope_[at(key)];
      for (int64_t j = 0; j < d; ++j) {
        out.dq[query_at(j)] += factor * in_.k[key_at(key, j)];
        out.dk[key_at(key, j)] += factor * in_.q[query_at(j)];
        out.dv[key_at(key, j)] += kept_[at(key)] * dy[query_at(j)];
      }
    }
  }

  const AttentionCase& shape_;
  const AttentionRows& in_;
  int64_t sample_, head_, key_head_, query_, begin_, visible_;
  double scale_, logsumexp_ = 0;
  std::vector<double> probability_, mask_, kept_, slope_;  ///< [visible - begin]
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

/// Columns [begin, begin + width) of rows of `of` columns.
template <class E>
std::vector<E> columns(const std::vector<E>& rows, int64_t of, int64_t begin, int64_t width) {
  std::vector<E> out;
  for (int64_t row = 0; row < int64_t(rows.size()) / of; ++row)
    out.insert(out.end(), rows.begin() + row * of + begin, rows.begin() + row * of + begin + width);
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

/// Rows of a width.
struct RowsOf {
  std::vector<double> values;
  int64_t width;
};
/// Rows with one part beside the other.
inline std::vector<double> side_by_side(const std::vector<RowsOf>& parts) {
  std::vector<double> out;
  for (int64_t row = 0; row < int64_t(parts[0].values.size()) / parts[0].width; ++row)
    for (const auto& [values, width] : parts)
      out.insert(out.end(), values.begin() + row * width, values.begin() + (row + 1) * width);
  return out;
}
/// Rows of one width.
inline std::vector<double> side_by_side(const std::vector<std::vector<double>>& parts,
                                        int64_t width) {
  std::vector<RowsOf> all;
  for (const std::vector<double>& part : parts) all.push_back({part, width});
  return side_by_side(all);
}

struct PackedAttentionReference {
  std::vector<double> y, logsumexp, dqkv, dbias;
};

/// Self-attention's: qkv [rows, packed width], as dqkv.
inline PackedAttentionReference attention_reference(const AttentionCase& shape,
                                                    const std::vector<double>& qkv,
                                                    const std::vector<double>& dy) {
  const int64_t width = shape.width(), keys = shape.key_width(), all = shape.packed_width();
  const AttentionReference out = attention_reference(shape,
                                                     {.q = columns(qkv, all, 0, width),
                                                      .k = columns(qkv, all, width, keys),
                                                      .v = columns(qkv, all, width + keys, keys)},
                                                     dy);
  return {.y = out.y,
          .logsumexp = out.logsumexp,
          .dqkv = side_by_side({{out.dq, width}, {out.dk, keys}, {out.dv, keys}}),
          .dbias = out.dbias};
}

}  // namespace zero::testing
