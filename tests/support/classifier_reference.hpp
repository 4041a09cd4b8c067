#pragma once
/// Softmax cross-entropy behind a linear head, and its gradients, in double loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "zero/kernels/classifier.hpp"

namespace zero::testing {

struct ClassifierReference {
  double loss = 0;                              ///< summed over the counted rows
  std::vector<double> dx, dtable, dlogit_bias;  ///< of  scale * loss
};

/// x [rows, width], table [padded_vocabulary, width].
struct ClassifierInputs {
  std::vector<double> x, table;
  std::vector<int32_t> targets;
  double logit_scale = 1, label_smoothing = 0;
  std::vector<double> logit_bias = {};  ///< [padded_vocabulary], or empty
  double cap = 0;                       ///< 0: none
};

/// Probabilities of the real classes of row r, and the slopes of their logits by scaled products;
/// returns log(sum of exponentials).
inline double probabilities(const kernels::ClassifierExtents& extents, const ClassifierInputs& in,
                            int64_t r, std::vector<double>& p, std::vector<double>& slopes) {
  double sum = 0;
  p.assign(size_t(extents.vocabulary), 0.0);
  slopes.assign(size_t(extents.vocabulary), 1.0);
  for (int64_t v = 0; v < extents.vocabulary; ++v) {
    double logit = 0;
    for (int64_t j = 0; j < extents.width; ++j)
      logit += in.x[size_t(r * extents.width + j)] * in.table[size_t(v * extents.width + j)];
    logit *= in.logit_scale;
    if (!in.logit_bias.empty()) logit += in.logit_bias[size_t(v)];
    if (in.cap > 0) {
      const double share = std::tanh(logit / in.cap);
      logit = in.cap * share;
      slopes[size_t(v)] = 1 - share * share;
    }
    p[size_t(v)] = std::exp(logit);
    sum += p[size_t(v)];
  }
  for (double& value : p) value /= sum;
  return std::log(sum);
}

/// The scores that the targets should have, without label smoothing. Expects nothing of a target
/// whose probability is as good as the largest and not equal to it.
inline void expect_scores(const kernels::ClassifierExtents& extents, const ClassifierInputs& in,
                          const std::vector<kernels::TokenScore>& got) {
  std::vector<double> p, slopes;
  for (int64_t r = 0; r < extents.rows; ++r) {
    const auto [log_probability, is_likeliest] = got[size_t(r)];
    const int32_t target = in.targets[size_t(r)];
    if (target < 0) {
      EXPECT_EQ(log_probability, 0) << "row " << r;
      EXPECT_EQ(is_likeliest, 0) << "row " << r;
      continue;
    }
    probabilities(extents, in, r, p, slopes);
    const double own = p[size_t(target)], most = *std::max_element(p.begin(), p.end());
    EXPECT_NEAR(log_probability, std::log(own), 1e-5 * (1 - std::log(own))) << "row " << r;
    const bool is_close = own < most && own >= most * (1 - 1e-4);
    if (!is_close) {
      EXPECT_EQ(is_likeliest, float(own == most)) << "row " << r;
    }
  }
}

inline ClassifierReference classifier_reference(const kernels::ClassifierExtents& extents,
                                                const ClassifierInputs& in, double scale) {
  ClassifierReference out{.dx = std::vector<double>(in.x.size()),
                          .dtable = std::vector<double>(in.table.size()),
                          .dlogit_bias = std::vector<double>(size_t(extents.padded_vocabulary))};
  std::vector<double> p, slopes;
  for (int64_t r = 0; r < extents.rows; ++r) {
    if (in.targets[size_t(r)] < 0) continue;
    probabilities(extents, in, r, p, slopes);
    for (int64_t v = 0; v < extents.vocabulary; ++v) {
      const double own = v == in.targets[size_t(r)] ? 1 - in.label_smoothing : 0;
      const double share = own + in.label_smoothing / double(extents.vocabulary);
      out.loss -= share * std::log(p[size_t(v)]);
      const double dscaled = scale * (p[size_t(v)] - share) * slopes[size_t(v)];
      const double dlogit = in.logit_scale * dscaled;
      out.dlogit_bias[size_t(v)] += dscaled;
      for (int64_t j = 0; j < extents.width; ++j) {
        out.dx[size_t(r * extents.width + j)] += dlogit * in.table[size_t(v * extents.width + j)];
        out.dtable[size_t(v * extents.width + j)] += dlogit * in.x[size_t(r * extents.width + j)];
      }
    }
  }
  return out;
}

}  // namespace zero::testing
