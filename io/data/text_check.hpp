#pragma once

#include "io/data/data_file.hpp"
#include "zero/base/utf8.hpp"

namespace zero {

/// Follows the UTF-8 of a file from its first byte on, over several pieces.
class TextCheck {
 public:
  explicit TextCheck(const DataFile& file) : file_(file) {}

  /// Throws Error(kInput) at a byte that no text has there.
  void add(std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) {
      if (!utf8_.accept(byte)) fail(text("byte ", int(byte), " is no UTF-8 text"));
      ++offset_;
    }
  }

  /// Throws Error(kInput) if the last character is not whole.
  void finish() const {
    if (!utf8_.complete()) fail("the last character is cut off");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    file_.damaged(offset_, what, "; convert the text, for instance with iconv -t UTF-8");
  }

  const DataFile& file_;
  Utf8Checker utf8_;
  int64_t offset_ = 0;
};

}  // namespace zero
