#pragma once
/// Files with a label a line: "2<TAB>a text", the label a digit below 3.

#include "zero/io/data/data_kind.hpp"

namespace zero {

inline constexpr int64_t kLabels = 3;

/// Columns: "tokens" [sequence_length], bytes and then zeros; "labels" [sequence_length], -1 but at
/// the last byte of the text.
const DataKind& label_data();

}  // namespace zero
