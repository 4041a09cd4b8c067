#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace zero::testing_support {

/// The bytes of a file; "" where it cannot be read.
inline std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace zero::testing_support
