#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// The score of a row's target under a model. Zeros if the row does not count.
struct TokenScore {
  float log_probability;
  float is_likeliest;  ///< 1: no class has a higher logit
};

struct ClassifierExtents {
  int64_t rows;
  int64_t width;
  int64_t vocabulary;         ///< real classes
  int64_t padded_vocabulary;  ///< rows of the table; classes from `vocabulary` on get probability 0
  int64_t chunk_rows;         ///< rows whose logits exist at a time; part of the arithmetic record
};

/// Returns the bytes of scratch that classifier() needs for these extents on arrays of `dtype`.
/// `dtable` and `dlogit_bias`: true if it writes the gradient of the table, and of a bias.
int64_t classifier_scratch_bytes(const ClassifierExtents& extents, Dtype dtype, bool dtable,
                                 bool dlogit_bias = false);

/// Prepares the products of classifier() with these extents on arrays of `dtype`, for this thread.
/// `dx` and `dtable`: true if it writes the gradients of x and of the table. See prepare_product().
void prepare_classifier(Stream& stream, const ClassifierExtents& extents, Dtype dtype, bool dx,
                        bool dtable);

/// The options of a loss. With the defaults no kernel is slower for them.
struct ClassifierOptions {
  float logit_scale = 1;
  /// Share of the loss that is the mean of -log p over the real classes.
  float label_smoothing = 0;
  float cap = 0;  ///< limits logits z to cap tanh(z / cap); 0: no limit
  /// True: a host computes nothing for chunks of which no row counts, unless a bias is trained.
  /// Only signs of gradients that are zero may differ.
  bool skips = false;
};

template <class T>
struct ClassifierArrays {
  const T* x;              ///< [rows, width]
  const T* table;          ///< [padded_vocabulary, width]: the tied token table
  const int32_t* targets;  ///< [rows]; -1: the row does not count
  T* dx;                   ///< [rows, width], written; null: loss only
  T* dtable;               ///< [padded_vocabulary, width], written; null: the table is not trained
  void* scratch;
  const T* logit_bias = nullptr;  ///< [padded_vocabulary], or null
  T* dlogit_bias = nullptr;       ///< [padded_vocabulary], written; null: it is not trained
  TokenScore* scores =
      nullptr;  ///< [rows], written; null: not wanted. REQUIRES: no label smoothing
};

/// Computes the logits of x and `table`, their cross-entropy with the targets and the gradients of
/// both, one chunk of rows at a time. The gradient of the logits overwrites them, so at most
/// [chunk_rows, padded_vocabulary] of them exist.
///
/// Adds the loss of every counted row to sums->loss, and counts non-finite losses in
/// sums->nonfinite_loss. Writes the gradients of loss_scale * sum of losses / counted_tokens, read
/// from `state` and `inputs`. Softmax is fp32. Chunks of the table's gradient add in fp32, rounded
/// once. The gradient of the bias is the sum over the logits' gradients, added and rounded alike. A
/// padded class gets a logit of minus infinity and so an exact zero gradient. Asynchronous on
/// `stream`. Throws Error(kInternal) for a gradient of the bias beside a logit_scale.
///
/// `options` has the factors. A logit is logit_scale times its product, plus its bias, then capped.
/// With label smoothing e, a row's loss is (1 - e) times its target's loss plus e / vocabulary
/// times the sum over all real classes. Source: Szegedy et al. 2016, section 7 (arXiv:1512.00567).
template <class T>
void classifier(Stream& stream, const ClassifierExtents& extents, const StepInputs* inputs,
                const StepState* state, const ClassifierArrays<T>& arrays, StepSums* sums,
                const ClassifierOptions& options = {});

}  // namespace zero::kernels
