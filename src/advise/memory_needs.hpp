#pragma once

#include <optional>
#include <string>
#include <vector>

#include "zero/advise/memory_limit.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {

/// A need of memory under a limit of a rank.
struct Need {
  const char* row;     ///< row of a table
  const char* memory;  ///< as error texts name it
  int64_t bytes, most;
  const std::string& source;  ///< source of the limit
  const char* key = "";       ///< key of the input file that sets the limit; "" if none
  int64_t saves = 0;          ///< part for checkpoint.async, in bytes
  int64_t texts = 0;          ///< part for texts, in bytes

  bool is_met() const { return bytes <= most; }
};

/// Returns the needs of a plan, and of texts beside it, under every known limit. REQUIRES: `limit`
/// outlives them.
std::vector<Need> needs_of(const setup::Build& build, const MemoryLimit& limit,
                           const plan::TierBytes& texts = {});
std::vector<Need> needs_of(const setup::Build& build, const MemoryLimit& limit,
                           const setup::Texts& texts);

bool are_met(const std::vector<Need>& needs);

/// Returns the device's limit without those of host memory and disks.
MemoryLimit of_device(MemoryLimit limit);

/// A need that is not met.
struct Shortage {
  Need need;
  const char* texts_key = nullptr;  ///< key of the texts that cause it; nullptr: none
};

/// Returns the first shortage of a plan, otherwise of the texts beside it; nothing if all fits.
/// REQUIRES: `limit` outlives the shortage.
std::optional<Shortage> shortage_of(const setup::Build& build, const MemoryLimit& limit);

}  // namespace zero::advise
