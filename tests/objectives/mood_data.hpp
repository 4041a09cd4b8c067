#pragma once
/// Files with a mood a line: "2<TAB>a text", the mood a digit below 3.

#include "zero/io/data/data_kind.hpp"

namespace zero {

inline constexpr int64_t kMoods = 3;

/// Columns: "tokens" [sequence_length], bytes and then zeros; "moods" [sequence_length], -1 but at
/// the last byte of the text.
const DataKind& mood_data();

}  // namespace zero
