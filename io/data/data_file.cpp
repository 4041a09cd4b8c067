#include "io/data/data_file.hpp"

#include <algorithm>

#include "io/data/zstd_file.hpp"

namespace zero {
namespace {

std::unique_ptr<InputFile> opened(const std::string& path, const std::string& advice) {
  try {
    return std::make_unique<InputFile>(path);
  } catch (const Error& error) {
    refuse(error.exit(), error.what(), "; ", advice);
  }
}

constexpr int64_t kPieceBytes = 1 << 20;  // bytes of one read
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// A scanner of a text, byte by byte, that finds the ends of lines and records.
class Scanner {
 public:
  Scanner(const std::string& path, RecordEnd end, int64_t lines_before)
      : path_(path),
        knows_quotes_(end == RecordEnd::quoted_line),
        line_(lines_before + 1),
        first_line_(line_) {}

  /// True if a record ends with this byte.
  bool ends_record(uint8_t byte) {
    if (!utf8_.accept(byte)) {
      fail(text("byte ", int(utf8_.first()), " is no UTF-8 text; convert the file, ",
                "iconv -f LATIN1 -t UTF-8 if it is in Latin-1"));
    }
    if (++bytes_ > RecordFile::kMostBytes) {
      fail(text("more than ", RecordFile::kMostBytes, " bytes",
                in_quotes_ ? ", as a double quote is never closed" : " in one line"));
    }
    if (byte == '"' && knows_quotes_) in_quotes_ = !in_quotes_;
    if (byte != '\n') return false;
    ++line_;
    if (in_quotes_) return false;
    first_line_ = line_;
    bytes_ = 0;
    return true;
  }
  void finish() const {
    if (!utf8_.complete()) fail("the last character is cut off");
  }
  int64_t line() const { return line_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    refuse(Exit::kInput, path_, ": line ", first_line_, ": ", what);
  }

  const std::string& path_;
  bool knows_quotes_, in_quotes_ = false;
  Utf8Checker utf8_;
  int64_t line_, first_line_, bytes_ = 0;  // lines and bytes of the record
};

}  // namespace

DataFile::DataFile(const std::string& path, std::string advice)
    : advice_(std::move(advice)), file_(opened(path, advice_)) {
  if (bytes() == 0) refuse(Exit::kInput, path, ": is empty; ", advice_);
}

DataFile DataFile::unpacked(const std::string& path, std::string advice) {
  DataFile file(path, std::move(advice));
  if (!path.ends_with(".zst")) return file;
  file.content_ = unpacked_zstd(*file.file_);
  if (file.bytes() == 0) refuse(Exit::kInput, path, ": holds nothing; ", file.advice_);
  return file;
}

void DataFile::copy_of_content(int64_t offset, std::span<uint8_t> out) const {
  ZERO_REQUIRE(offset >= 0 && offset <= bytes() - int64_t(out.size()), "bytes ", offset, " to ",
               offset + int64_t(out.size()), " of ", bytes());
  std::copy_n(content_->begin() + offset, out.size(), out.begin());
}

int64_t lines_before(const std::string& path, int64_t offset) {
  const InputFile file(path);
  std::vector<char> room(size_t(std::min(kPieceBytes, file.bytes())));
  int64_t lines = 0;
  for (int64_t at = 0; at < offset; at += int64_t(room.size())) {
    const auto piece =
        std::span(room).first(size_t(std::min<int64_t>(int64_t(room.size()), offset - at)));
    file.read(at, std::as_writable_bytes(piece));
    lines += std::ranges::count(piece, '\n');
  }
  return lines;
}

uint64_t number_of(const Xxh3Digest& digest) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest[i];
  return number;
}

RecordFile::RecordFile(const std::string& path, std::string advice, RecordEnd end)
    : RecordFile(path, std::move(advice), end, {}) {}

RecordFile::RecordFile(const std::string& path, std::string advice, const LineRange& range)
    : RecordFile(path, std::move(advice), RecordEnd::line, range) {}

RecordFile::RecordFile(const std::string& path, std::string advice, RecordEnd end,
                       const LineRange& range)
    : file_(DataFile::unpacked(path, std::move(advice))), range_(range) {
  file_.require_records();
  find_records(end);
  blank_at_end_ =
      begins_.end() - 1 - std::lower_bound(begins_.begin(), begins_.end() - 1, end_of_text(end));
}

/// Returns the offset of the first line of the range, or the file's size.
int64_t RecordFile::first_line_begin() const {
  if (range_.begin == 0) return 0;
  std::string room(size_t(std::min(kPieceBytes, file_.bytes())), '\0');
  for (int64_t at = range_.begin - 1; at < file_.bytes(); at += int64_t(room.size())) {
    room.resize(size_t(std::min<int64_t>(int64_t(room.size()), file_.bytes() - at)));
    file_.read(at, {reinterpret_cast<uint8_t*>(room.data()), room.size()});
    const size_t end = room.find('\n');
    if (end != room.npos) return at + int64_t(end) + 1;
  }
  return file_.bytes();
}

/// Returns the offset after the last byte that is not blank.
int64_t RecordFile::end_of_text(RecordEnd end) const {
  const std::string blanks = text(end == RecordEnd::line ? kBlanks : " \r", '\n');
  std::string room(size_t(std::min(kPieceBytes, file_.bytes())), '\0');
  for (int64_t at = file_.bytes(); at > begins_[0];) {
    room.resize(size_t(std::min<int64_t>(int64_t(room.size()), at - begins_[0])));
    at -= int64_t(room.size());
    file_.read(at, {reinterpret_cast<uint8_t*>(room.data()), room.size()});
    const size_t last = room.find_last_not_of(blanks);
    if (last != room.npos) return at + int64_t(last) + 1;
  }
  return begins_[0];
}

void RecordFile::find_records(RecordEnd end) {
  std::vector<uint8_t> room(size_t(std::min(kPieceBytes, file_.bytes())));
  Scanner scanner(path(), end, range_.lines_before);
  Xxh3 hash;
  int64_t line = first_line_begin();  // begin of the record, in front of a byte order mark
  begins_ = {line};
  const bool has_lines = end == RecordEnd::quoted_line;
  if (has_lines) lines_ = {1};
  for (int64_t at = line; at < file_.bytes() && line < range_.end; at += int64_t(room.size())) {
    const auto piece =
        std::span(room).first(size_t(std::min<int64_t>(int64_t(room.size()), file_.bytes() - at)));
    file_.read(at, piece);
    const std::string_view front(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (at == 0 && front.starts_with(kByteOrderMark)) begins_[0] = int64_t(kByteOrderMark.size());
    size_t i = 0;
    while (i < piece.size() && line < range_.end) {
      if (!scanner.ends_record(piece[i++])) continue;
      begins_.push_back(line = at + int64_t(i));
      if (has_lines) lines_.push_back(scanner.line());
    }
    hash.add(std::as_bytes(piece.first(i)));
  }
  scanner.finish();
  if (line < range_.end && begins_.back() < file_.bytes()) begins_.push_back(file_.bytes());
  if (records() == 0 && range_.begin == 0)
    refuse(Exit::kInput, path(), ": holds a byte order mark and no record");
  fingerprint_ = number_of(hash.digest());
}

std::string_view RecordFile::read(int64_t record, std::string& room) const {
  ZERO_REQUIRE(record >= 0 && record < records(), "record ", record, " of ", records());
  const int64_t begin = begins_[size_t(record)], end = begins_[size_t(record) + 1];
  room.resize(size_t(end - begin));
  file_.read(begin, {reinterpret_cast<uint8_t*>(room.data()), room.size()});
  std::string_view text = room;
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string RecordFile::place(int64_t record) const {
  const int64_t line = lines_.empty() ? range_.lines_before + record + 1 : lines_[size_t(record)];
  return text(path(), ": line ", line);
}

}  // namespace zero
