#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/base/shape.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// Samples of one optimizer step: train = micro x accumulation x ranks.
struct BatchSizes {
  int64_t train, micro, accumulation;
};

/// Infers what is "auto" from what is given, as DeepSpeed does: the third from any two, and
/// accumulation 1 where one is given. Throws SettingsError with the equation and a setting that
/// works if nothing is given or the numbers do not divide.
BatchSizes resolve_batch(const RunConfig& config, int64_t ranks);

/// A micro-batch has one of so many pairs of lengths, at most.
inline constexpr size_t kMostLengthPairs = 4;

/// Tokens of a source and a target, at most.
LengthPair longest_pair(const DataConfig& data);

/// The pairs that data.length_buckets lists, the shortest first; the last is longest_pair(),
/// written or not. None where it is "none" or "auto". Throws SettingsError where it says no such
/// list.
std::vector<LengthPair> length_pairs(const DataConfig& data);
/// "32x16, 128x64", as the key says them.
std::string to_text(const std::vector<LengthPair>& pairs);

/// Whether the pairs are to be chosen from the data.
inline bool chooses_lengths(const DataConfig& data) { return data.length_buckets == "auto"; }

}  // namespace zero
