#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/file_kind.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {

static_assert(std::endian::native == std::endian::little, "numbers of data files are copied");

/// A file of data, with advice on how to get one. Thread-safe.
class DataFile {
 public:
  /// Opens the file. Throws Error(kInput) that ends with `advice` if the file cannot be opened, is
  /// a folder or a pipe, or is empty.
  DataFile(const std::string& path, std::string advice);
  /// Opens the file. Unpacks one that is named .zst into memory. Throws as above and as
  /// unpacked_zstd().
  static DataFile unpacked(const std::string& path, std::string advice);

  const std::string& path() const { return file_->path(); }
  const std::string& advice() const { return advice_; }
  int64_t bytes() const { return content_ ? int64_t(content_->size()) : file_->bytes(); }

  /// Throws Error(kInput) if the first bytes tell that this is not a text (file_kind.hpp).
  void require_text() const { require_text_kind(first_bytes(*file_), path()); }
  /// Throws as require_text(), for records of texts.
  void require_records() const {
    require_records_kind(content_ ? content_->substr(0, kFileKindBytes) : first_bytes(*file_),
                         path());
  }
  /// Throws as require_text(), for ids without a header.
  void require_numbers() const { require_number_kind(first_bytes(*file_), path()); }

  /// Reads as InputFile::read.
  void read(int64_t offset, std::span<uint8_t> out) const {
    if (content_)
      copy_of_content(offset, out);
    else
      file_->read(offset, std::as_writable_bytes(out));
  }

  /// Returns the little-endian number at `offset`.
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
  void copy_of_content(int64_t offset, std::span<uint8_t> out) const;

  std::string advice_;
  std::unique_ptr<InputFile> file_;
  std::optional<std::string> content_ = {};  ///< of a file that was unpacked
};

/// A check of a file's UTF-8 from byte `first` on, over several pieces.
class TextCheck {
 public:
  explicit TextCheck(const DataFile& file, int64_t first = 0) : file_(file), seen_(first) {}

  /// Throws Error(kInput) at an invalid character.
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
  int64_t seen_;
};

/// The end of a record of a text.
enum class RecordEnd {
  line,         ///< end of a line; tabs are blanks
  quoted_line,  ///< end of a line, unless between two double quotes
  tabbed_line,  ///< end of a line whose fields tabs separate
};

/// A part of a text of lines: those whose first bytes are in [begin, end).
struct LineRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  int64_t lines_before = 0;  ///< lines in front of `begin`, for messages
  std::string name = {};     ///< path of the file for messages; "": its own

  bool is_whole() const { return begin == 0 && end == std::numeric_limits<int64_t>::max(); }
};

/// A UTF-8 text of records, mostly one a line. Keeps the start of each, 8 bytes a record, and
/// nothing of the text. Lines end with LF or CR LF, which the last may lack. A byte order mark in
/// front is skipped. Thread-safe.
class RecordFile {
 public:
  static constexpr int64_t kMostBytes = int64_t(1) << 24;  ///< most bytes of a record

  /// Reads the whole file. Throws Error(kInput) naming file and line if it is not UTF-8 or a record
  /// has more than kMostBytes. Throws as DataFile if it cannot be opened.
  RecordFile(const std::string& path, std::string advice, RecordEnd end);
  /// Reads the lines of a range, which may have none.
  RecordFile(const std::string& path, std::string advice, const LineRange& range);

  const std::string& path() const { return range_.name.empty() ? file_.path() : range_.name; }
  /// True if the file is read from its first line to its last.
  bool is_whole() const { return range_.is_whole(); }
  int64_t records() const { return int64_t(begins_.size()) - 1; }
  /// Returns the count of last records that are blank.
  int64_t blank_at_end() const { return blank_at_end_; }
  int64_t bytes() const { return file_.bytes(); }

  /// Returns a record without the end of its last line, in `room`.
  std::string_view read(int64_t record, std::string& room) const;

  /// Returns the place of a record's first line, counted from 1: "pairs.csv: line 7".
  std::string place(int64_t record) const;

  /// Throws Error(kInput) that names the file and the record's line.
  template <class... Parts>
  [[noreturn]] void damaged(int64_t record, const Parts&... parts) const {
    refuse(Exit::kInput, place(record), ": ", parts...);
  }

  /// Returns a number that changes with any byte of the text, as read at opening.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  RecordFile(const std::string& path, std::string advice, RecordEnd end, const LineRange& range);

  int64_t first_line_begin() const;
  void find_records(RecordEnd end);
  int64_t end_of_text(RecordEnd end) const;

  DataFile file_;
  LineRange range_;
  std::vector<int64_t> begins_;  ///< [records + 1] start of each; ends with the file's length
  std::vector<int64_t> lines_;   ///< [records] first line of each; empty if records are lines
  int64_t blank_at_end_ = 0;
  uint64_t fingerprint_ = 0;
};

/// Returns the count of ends of lines in front of an offset.
int64_t lines_before(const std::string& path, int64_t offset);

/// Returns the first 64 bits of a digest.
uint64_t number_of(const Xxh3Digest& digest);

}  // namespace zero
