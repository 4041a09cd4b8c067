#pragma once
/// The samples of two texts that kinds of data share: their form, special ids and columns.

#include <vector>

#include "io/data/pair_form.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// Returns the special ids in the tokenizer's files, with the model's decoder start as a fallback.
/// For bytes, returns the model's ids, else the first two: control characters that texts seldom
/// hold.
SpecialIds known_ids(const DataOptions& options, const Tokenizer& tokenizer);

/// Returns the id of padding. Throws as form_of().
int32_t pad_id_of(const DataOptions& options, const SpecialIds& known);

/// Throws SettingsError if the tokenizer knows more tokens than the model.
void require_vocabulary(const DataOptions& options, const Tokenizer& tokenizer);

/// Returns the form of samples, with ids of the input file, else the known ones. Throws
/// SettingsError if an id is unknown, beyond the vocabulary or another than config.json's.
PairForm form_of(const DataOptions& options, const SpecialIds& known);

std::vector<DataColumn> columns_of_two_texts(const DataOptions& options);

/// Returns samples of random tokens, for data.train = "synthetic".
DataSets synthetic_pairs(const DataOptions& options);

}  // namespace zero
