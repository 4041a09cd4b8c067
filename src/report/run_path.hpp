#pragma once

#include <string>

namespace zero::report {

/// Refuses a folder that is no run's. Throws Error(kInput).
void require_run(const std::string& folder);

}  // namespace zero::report
