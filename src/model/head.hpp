#pragma once
/// What families agree on about tables of tokens and the classifier at the end.

#include <algorithm>
#include <cstdint>

#include "zero/base/align.hpp"
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

}  // namespace zero::model
