#pragma once

#include <functional>
#include <string>
#include <vector>

namespace zero {

struct RunConfig;

/// Settings that are legal one by one and cannot stand together, or of which one is missing.
struct Rule {
  std::vector<std::string> keys;                        ///< all that the rule looks at
  std::function<std::string(const RunConfig&)> broken;  ///< what is wrong; "" if nothing is
  /// Lines of an input file that break it, the one that is reported last. Tests run them.
  std::vector<std::string> example;
};

}  // namespace zero
