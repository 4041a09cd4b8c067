#pragma once

#include "io/data/data_file.hpp"
#include "zero/base/text.hpp"

namespace zero {

/// Follows the UTF-8 of a file from its first byte on, over several pieces.
class TextCheck {
 public:
  explicit TextCheck(const DataFile& file) : file_(file) {}

  /// Throws Error(kInput) at a character that is none.
  void add(std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) {
      ++seen_;
      if (!utf8_.accept(byte)) fail(text("byte ", int(utf8_.first()), " is no UTF-8 text"));
    }
  }

  /// Throws Error(kInput) if the last character is not whole.
  void finish() const {
    if (!utf8_.complete()) fail("the last character is cut off");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    file_.damaged(seen_ - 1 - utf8_.before(), what,
                  "; convert the text, iconv -f LATIN1 -t UTF-8 if it is in Latin-1");
  }

  const DataFile& file_;
  Utf8Checker utf8_;
  int64_t seen_ = 0;
};

}  // namespace zero
