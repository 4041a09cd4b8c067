#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"

namespace zero {

/// "1 rank", "2 ranks": `number` of what `word` names in the singular, whose plural takes an s.
inline std::string counted(int64_t number, std::string_view word) {
  return text(number, " ", word, number == 1 ? "" : "s");
}

}  // namespace zero
