#pragma once

#include <string>
#include <string_view>

namespace zero {

/// Returns `text` in Unicode's normal form C (Unicode Standard Annex 15), as `tokenizers` 0.23.3
/// composes it. A byte outside UTF-8 stays, and nothing is composed across it.
std::string to_nfc(std::string_view text);

}  // namespace zero
