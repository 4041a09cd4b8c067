#pragma once

#include <string>
#include <string_view>

#include "src/config/import/source.hpp"

namespace zero {

/// Reads the part of YAML that `accelerate config` writes: objects by indentation, plain and quoted
/// values on one line, {} and [], comments. Words mean what PyYAML makes of them: yes, no, on and
/// off are booleans. Throws Error(kUsage), "file:line: what", on anything else.
Source read_yaml(std::string_view text, const std::string& file);

}  // namespace zero
