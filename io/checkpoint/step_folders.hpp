#pragma once
/// Names in a folder of checkpoints.

#include <string>
#include <string_view>

namespace zero::checkpoint {

/// Prefixes of a folder that is being made or removed, did not verify, or lies in a streak.
inline constexpr std::string_view kMaking = ".tmp-", kRemoving = ".del-", kDamaged = "damaged-",
                                  kStreak = "streak-";
inline constexpr const char *kLatest = "latest", *kLock = "LOCK";

/// Returns a new name, ".tmp-step00001200-<128 random bits>".
std::string unique_name(std::string_view prefix, const std::string& name);

/// True if unique_name() can make `name` with this prefix, for a step's folder or `latest`.
bool is_unique_name(std::string_view name, std::string_view prefix);

}  // namespace zero::checkpoint
