#pragma once

#include <optional>
#include <string>
#include <vector>

#include "zero/advise/memory_limit.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// A need of memory under one limit of a rank.
struct Need {
  const char* row;     ///< of a table
  const char* memory;  ///< as a sentence names it
  int64_t bytes, most;
  const std::string& source;  ///< of the limit
  const char* key = "";       ///< of the input file that says the limit; "" where none does
  int64_t saves = 0;          ///< bytes of it that checkpoint.async takes
  int64_t texts = 0;          ///< bytes of it that texts take

  bool is_met() const { return bytes <= most; }
};

/// Returns the needs of a plan under every limit that is known, and of what texts take beside it.
/// `limit` outlives them.
std::vector<Need> needs_of(const state::Build& build, const MemoryLimit& limit,
                           const plan::TierBytes& texts = {});
std::vector<Need> needs_of(const state::Build& build, const MemoryLimit& limit,
                           const state::Texts& texts);

bool are_met(const std::vector<Need>& needs);

/// Returns the limit of the device alone, without those of host memory and of disks.
MemoryLimit of_device(MemoryLimit limit);

/// A need that is not met.
struct Shortage {
  Need need;
  const char* texts_key = nullptr;  ///< of the texts without which it would be met; nullptr: none
};

/// Returns the first shortage of a plan, then of the texts beside it; none where all fits. `limit`
/// outlives it.
std::optional<Shortage> shortage_of(const state::Build& build, const MemoryLimit& limit);

}  // namespace zero::advise
