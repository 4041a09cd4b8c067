#pragma once

#include <string>
#include <string_view>

#include "zero/base/text.hpp"

namespace zero::writing {

/// A converter of pieces of bytes to whole UTF-8 characters. It holds back incomplete characters
/// and replaces invalid ones by U+FFFD.
class CharacterStream {
 public:
  /// Returns the characters that these bytes complete.
  std::string add(std::string_view bytes);
  /// Returns the rest at the end of the text.
  std::string finish();

 private:
  Utf8Checker checker_;
  std::string held_;
};

}  // namespace zero::writing
