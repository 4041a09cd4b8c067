#pragma once

#include <cstdio>
#include <string>

namespace zero {

/// Adds what printf would say, at most 255 characters. Allocates nothing where `out` has room.
template <class... Values>
void append(std::string& out, const char* pattern, Values... values) {
  char part[256];
  std::snprintf(part, sizeof part, pattern, values...);
  out += part;
}

/// The same as a text of its own.
template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::string out;
  append(out, pattern, values...);
  return out;
}

/// "1.25 GiB"
std::string bytes_text(double bytes);

}  // namespace zero
