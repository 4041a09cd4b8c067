#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace zero {

/// Two lower-case digits a byte.
std::string hex_of(std::span<const uint8_t> bytes);

}  // namespace zero
