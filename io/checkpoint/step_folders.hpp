#pragma once
/// The names in a folder of checkpoints.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zero::checkpoint {

/// What stands in front of a name while its folder is being made or removed.
inline constexpr std::string_view kMaking = ".tmp-", kRemoving = ".del-", kDamaged = "damaged-",
                                  kStreak = "streak-";
inline constexpr const char *kLatest = "latest", *kLock = "LOCK";

/// The step of a folder of that very name: "step00001200" is 1200.
std::optional<int64_t> step_in(std::string_view name);

/// ".tmp-step00001200-<128 random bits>"
std::string unique_name(std::string_view prefix, const std::string& name);

/// Whether unique_name() could have made it with this prefix, of a step's folder or of `latest`.
bool is_unique_name(std::string_view name, std::string_view prefix);

}  // namespace zero::checkpoint
