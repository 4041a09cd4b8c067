#pragma once
/// What a library that wants wider heads, and masks from two numbers of its own, is given.

#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

/// Heads of `from` and `to`, of which the wider ones begin with what the narrower ones are.
struct HeadWidths {
  int64_t heads;  ///< of all rows
  int64_t from, to;
};

/// to[h, j] = from[h, j], or 0 where `from` has no column j; columns beyond those of `to` are left
/// behind. from [heads, widths.from], to [heads, widths.to]. Asynchronous on `stream`.
template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to);

/// *dropout = attention_dropout() of this micro-batch. Asynchronous on `stream`.
void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout);

}  // namespace zero::kernels::vendor
