#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/data/data_file.hpp"
#include "zero/base/digests.hpp"

namespace zero {

/// Where a record of a text ends.
enum class RecordEnd {
  line,         ///< at the end of a line
  quoted_line,  ///< at the end of a line, unless it stands between two double quotes
};

/// A text in UTF-8 of records, mostly one a line. Keeps where each begins, 8 bytes a record, and
/// nothing of the text. Lines end with LF or CR LF; the last may go without; a byte order mark in
/// front is skipped. Safe from several threads at once.
class RecordFile {
 public:
  static constexpr int64_t kMostBytes = int64_t(1) << 24;  ///< of a record

  /// Reads the whole file. Throws Error(kInput) naming file and line where it is no UTF-8 or where
  /// a record has more than kMostBytes; as DataFile where it cannot be opened.
  RecordFile(const std::string& path, std::string advice, RecordEnd end);

  const std::string& path() const { return file_.path(); }
  int64_t records() const { return int64_t(begins_.size()) - 1; }
  int64_t bytes() const { return file_.bytes(); }

  /// A record without the end of its last line, in `room`.
  std::string_view read(int64_t record, std::string& room) const;

  /// "pairs.csv: line 7", the line on which a record begins, counted from 1.
  std::string place(int64_t record) const;

  /// Throws Error(kInput) that names the file and the record's line.
  template <class... Parts>
  [[noreturn]] void damaged(int64_t record, const Parts&... parts) const {
    refuse(Exit::kInput, place(record), ": ", parts...);
  }

  /// A number that changes with any byte, of the text as it was when it was opened.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  void find_records(RecordEnd end);

  DataFile file_;
  std::vector<int64_t> begins_;  ///< of each record; the file's length after the last
  std::vector<int64_t> lines_;   ///< of each record where records have several; else empty
  uint64_t fingerprint_ = 0;
};

/// The first 64 bits of a digest.
uint64_t number_of(const Xxh3Digest& digest);

}  // namespace zero
