#pragma once
/// What a library is told beside q, k and v: what it draws its masks from, and about padding; and
/// what is cleared behind it: it need not leave zeros where we promise them, and a sample without
/// any key is one of a key to it, whose results go.

#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

/// *dropout = attention_dropout() of this micro-batch. Asynchronous on `stream`.
void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout);

struct SampleLengths {
  int32_t *queries, *keys;  ///< [samples] each
};

/// Writes how many queries and keys each sample has: all of them, or as `key_counts` say, [samples]
/// or null. A sample without keys has one query and one key. Asynchronous on `stream`.
void write_lengths(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                   const SampleLengths& lengths);

template <class T>
struct QueryRows {
  T* first;  ///< [samples * length] rows of the inner width
  int64_t stride;
  float* logsumexp = nullptr;  ///< [samples, heads, length], or null
};

/// Rows of samples without any key = 0. Asynchronous on `stream`.
template <class T>
void clear_blind_queries(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                         const QueryRows<T>& rows);

template <class T>
struct KeyRows {
  T *dk, *dv;  ///< [samples * keys] rows of the inner width each
  int64_t stride;
};

/// Rows of keys that are padding = 0. Asynchronous on `stream`.
template <class T>
void clear_padding(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                   const KeyRows<T>& rows);

}  // namespace zero::kernels::vendor
