#pragma once
/// What families agree on about tables of tokens, the classifier at the end, and heads.

#include <algorithm>
#include <cstdint>
#include <string>

#include "zero/base/align.hpp"
#include "zero/base/text.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// Rows of a table of tokens.
inline int64_t padded_rows(int64_t vocabulary) { return round_up<int64_t>(vocabulary, 64); }

/// Rows that the classifier works on at a time: enough for a product to run at full speed, few
/// enough that logits stay small.
inline int64_t classifier_rows(const ForwardOptions& options) {
  const int64_t most = options.chunk_rows > 0 ? options.chunk_rows : 1024;
  return std::min(options.micro.samples * options.micro.length, most);
}

/// A broken rule of model.heads and model.width: heads are equal parts of the width.
inline std::string uneven_heads(const RunConfig& config) {
  const ModelNumbers numbers = model_numbers(config);
  const int64_t width = numbers.count("width"), heads = numbers.count("heads");
  if (heads == 0 || width % heads == 0) return "";
  return text("a width of ", width, " does not divide into ", counted(heads, "head"),
              "; write a width that is a multiple of heads");
}

}  // namespace zero::model
