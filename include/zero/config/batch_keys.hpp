#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/base/shape.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// The batch sizes of one optimizer step, in samples: train = micro x accumulation x ranks.
struct BatchSizes {
  int64_t train, micro, accumulation;
};

/// Returns the batch sizes of a run on `ranks` ranks. Derives those that are "auto" in `config`
/// from the given ones, as DeepSpeed does. Accumulation is 1 if only one size is given. Throws
/// SettingsError with the equation and a setting that works if nothing is given or the numbers do
/// not divide.
BatchSizes resolve_batch(const RunConfig& config, int64_t ranks);

/// Maximum number of forms. Every micro-batch is padded to the lengths of one form.
inline constexpr size_t kMostForms = 4;

/// Returns the most tokens that a source and a target of a sample may have under `config`. The
/// source is 0 if the samples of the objective have none.
LengthPair longest_lengths(const RunConfig& config);

/// Returns the lengths of each form that config's data.length_buckets lists, shortest first. The
/// last is always longest_lengths(), even if the key omits it. Empty for "none" and "auto". Throws
/// SettingsError if the key holds no such list.
std::vector<LengthPair> form_lengths(const RunConfig& config);
/// Returns lengths of forms as data.length_buckets writes them: "32x16, 128x64", or "64, 128"
/// without sources.
std::string to_text(const std::vector<LengthPair>& forms);

/// True if data.length_buckets is "auto": the program chooses the lengths from the samples.
inline bool chooses_lengths(const DataConfig& data) { return data.length_buckets == "auto"; }

}  // namespace zero
