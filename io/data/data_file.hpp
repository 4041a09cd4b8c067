#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/files.hpp"

namespace zero {

static_assert(std::endian::native == std::endian::little, "numbers of data files are copied");

/// A file of data, and how a user may come by one. Safe from several threads at once.
class DataFile {
 public:
  /// Throws Error(kInput) that ends with `advice` if the file cannot be opened, is a folder or a
  /// pipe, or is empty.
  DataFile(const std::string& path, std::string advice);

  const std::string& path() const { return file_->path(); }
  const std::string& advice() const { return advice_; }
  int64_t bytes() const { return file_->bytes(); }

  /// As InputFile::read.
  void read(int64_t offset, std::span<uint8_t> out) const {
    file_->read(offset, std::as_writable_bytes(out));
  }

  /// The little-endian number at `offset`.
  template <class T>
  T number(int64_t offset) const {
    T value{};
    file_->read(offset, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  /// Throws Error(kInput) that names the file and the place.
  template <class... Parts>
  [[noreturn]] void damaged(int64_t offset, const Parts&... parts) const {
    refuse(Exit::kInput, path(), ": offset ", offset, ": ", parts...);
  }

 private:
  std::string advice_;
  std::unique_ptr<InputFile> file_;
};

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
