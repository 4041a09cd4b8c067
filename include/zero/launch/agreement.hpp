#pragma once

#include <string>
#include <vector>

#include "zero/launch/session.hpp"

namespace zero::launch {

/// Ends all ranks, kRanksDisagree, unless all that have a text have the same as rank 0, naming
/// those that differ. Collective.
void require_same(Session& session, const std::string& what, const std::string& mine);

/// The same for the settings of a run, as the text of an input file; names the keys that differ and
/// their values. Collective.
void require_same_settings(Session& session, const std::string& mine);

/// A key with the values that two input files give it.
struct Difference {
  std::string key, one, other;
};

/// The keys, ascending, whose values differ between two input files that both have them.
std::vector<Difference> differences(const std::string& one, const std::string& other);

/// "run.seed = 1 and 2, zero.stage = 0 and 3": the keys whose values differ between two input
/// files, the first five of them; "" if there are none.
std::string differing_settings(const std::string& one, const std::string& other);

}  // namespace zero::launch
