#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Returns the row of functions of DeBERTa's second and third version.
const Family& deberta_family();

struct Deberta {
  int64_t layers;
  int64_t width;
  int64_t heads;  ///< divides `width`
  int64_t inner;  ///< width of the feed-forward layers
  int64_t vocabulary;
  int64_t buckets = 256;   ///< rows of a side of the table of distances
  int64_t distance = 512;  ///< distances up to here have a row each or share one
  bool convolves = false;  ///< a convolution over three places beside the first layer, as in v2
  int64_t labels = 2;      ///< classes; 1: a number
  float dropout = 0.0f;    ///< rate of all places but the pooler's input
  float epsilon = 1e-7f;   ///< term in norms

  operator Architecture() const;
};

/// Returns the least model.relative_distance for a table of so many buckets, 2 or more. Shorter
/// ones leave no logarithm.
constexpr int64_t least_distance(int64_t buckets) { return buckets / 2 + 2; }

/// Returns the number of parameters without the vocabulary's padding.
int64_t parameter_count(const Deberta& model);

/// Adds the forward graph up to the last rows. Inputs: "tokens" [T], and "token_count" [1], the
/// tokens before padding. Unit "embeddings" holds the tables of tokens and of distances with their
/// norms. Each layer is a unit, the first with the convolution, whose weight is
/// [3 width, width]. A layer projects the rows of the table that T tokens read, by the weights of
/// its queries and keys. Throws Error(kUsage) if heads do not divide the width, or the table has no
/// logarithm. Source: He et al. 2021 (arXiv:2006.03654, arXiv:2111.09543); Hugging Face
/// modeling_deberta_v2.py for names and order.
Trunk deberta_trunk(graph::GraphBuilder& out, const Deberta& model, const ForwardOptions& options);

/// Adds the unit "head", pooler and classifier, and the loss of input "labels" [1]: classes, or
/// with one label fp32 numbers. Evaluations put out kScoresOutput.
void deberta_head(graph::GraphBuilder& out, const Deberta& model, const Trunk& trunk,
                  const ForwardOptions& options);

/// Returns the floating-point operations of one token, forward and backward, without repeating
/// any. A micro-batch projects the table once, and each of its tokens has a share.
double flops_per_token(const Deberta& model, const graph::MicroBatch& micro);

}  // namespace zero::model
