#pragma once

#include <string>
#include <string_view>

#include "zero/base/text.hpp"

namespace zero::writing {

/// A converter of pieces of bytes to whole UTF-8 characters. It holds back incomplete characters
/// and replaces invalid ones by U+FFFD.
class CharacterStream {
 public:
  /// Appends bytes of the text and returns the characters that they complete.
  std::string add(std::string_view bytes);
  /// Ends the text. Returns U+FFFD if an incomplete character is held back, else "".
  std::string finish();

 private:
  Utf8Checker checker_;
  std::string held_;
};

}  // namespace zero::writing
