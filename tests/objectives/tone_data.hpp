#pragma once
/// Files with a sample a line: "flat<TAB>a text", a word or a number in front of the text.

#include "zero/io/data/data_kind.hpp"

namespace zero {

inline constexpr int64_t kTones = 3;

/// Columns: "tokens" [sequence_length], bytes and then zeros; "tone" [1], the class of the word.
/// The classes are the file's words, sorted, or those of data.labels or of the model.
const DataKind& tone_data();
/// Columns: "tokens" as tone_data(); "grade" [1], the number as fp32.
const DataKind& grade_data();

}  // namespace zero
