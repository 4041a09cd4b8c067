#pragma once

#include <cstdint>
#include <string_view>

namespace zero {

inline constexpr int64_t kMostBytes = 9'000'000'000'000'000;  // exact in a double
inline constexpr int64_t kMostSeconds = int64_t(10'000) * 3600;

/// The bytes of "24GiB", "1.5 TiB" or "4096B"; false if it is no size.
bool as_bytes(std::string_view word, int64_t& out);

/// The same of "5GB", "1.5 TB" or "200KB", powers of ten.
bool as_decimal_bytes(std::string_view word, int64_t& out);

/// The seconds of "HH:MM:SS" with one to four digits of hours; false if it is no such time.
bool as_clock(std::string_view word, int64_t& out);

/// Whether it is UTF-8 without control characters, and so can stand in a file as it is.
bool is_line_of_text(std::string_view word);

}  // namespace zero
