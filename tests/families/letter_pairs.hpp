#pragma once

#include "zero/io/data/data_kind.hpp"

namespace zero {

/// A kind of data that lives here alone: texts cut into windows of a source of "source_length"
/// tokens, which the model's numbers say, and the sequence_length + 1 tokens behind it. Columns:
/// "source", and "previous" and "next" of sequence_length.
const DataKind& letter_pair_data();

}  // namespace zero
