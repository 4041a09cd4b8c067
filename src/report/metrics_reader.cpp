#include "src/report/metrics_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "zero/base/path.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::report {
namespace {

constexpr int64_t kPieceBytes = int64_t(1) << 20;

/// A cursor in a line.
struct Cursor {
  std::string_view rest;

  void skip_blanks() {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) rest.remove_prefix(1);
  }
  bool take(char c) {
    skip_blanks();
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  /// Takes a text without escapes and control characters.
  bool take_text(std::string_view& text) {
    if (!take('"')) return false;
    size_t end = 0;
    while (end < rest.size() && rest[end] != '"') {
      if (rest[end] == '\\' || uint8_t(rest[end]) < ' ') return false;
      ++end;
    }
    if (end == rest.size()) return false;
    text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
  }
  /// Takes a number, true, false or null.
  bool take_word(std::string_view& word) {
    skip_blanks();
    const auto is_in_word = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
             c == 'E';
    };
    const auto end = std::ranges::find_if_not(rest, is_in_word);
    word = rest.substr(0, size_t(end - rest.begin()));
    rest.remove_prefix(word.size());
    return !word.empty();
  }
};

bool take_value(Cursor& cursor, LineValue& value) {
  if (!cursor.take_text(value.name) || !cursor.take(':')) return false;
  cursor.skip_blanks();
  value.is_text = cursor.rest.starts_with('"');
  return value.is_text ? cursor.take_text(value.text) : cursor.take_word(value.text);
}

/// A reader of a file's whole lines.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {}

  /// Calls `take` with offset and text of each line.
  template <class Take>
  void read(const Take& take) {
    for (int64_t at = 0; at < file_.bytes();) {
      const int64_t bytes = std::min(kPieceBytes, file_.bytes() - at);
      piece_.resize(size_t(bytes));
      file_.read(at, std::as_writable_bytes(std::span(piece_)));
      const size_t used = split(at, take);
      // A line longer than a piece is no line of a run.
      at += used > 0 ? int64_t(used) : bytes;
    }
  }

 private:
  template <class Take>
  size_t split(int64_t offset, const Take& take) {
    const std::string_view piece = piece_;
    size_t begin = 0;
    for (size_t end; (end = piece.find('\n', begin)) != piece.npos; begin = end + 1)
      take(offset + int64_t(begin), piece.substr(begin, end - begin));
    return begin;
  }

  InputFile file_;
  std::string piece_;
};

}  // namespace

bool read_line(std::string_view line, LineValues& values) {
  values.clear();
  Cursor cursor{line};
  if (!cursor.take('{')) return false;
  do {
    if (!take_value(cursor, values.emplace_back())) return false;
  } while (cursor.take(','));
  if (!cursor.take('}')) return false;
  cursor.skip_blanks();
  return cursor.rest.empty();
}

const LineValue* find_value(const LineValues& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &LineValue::name);
  return found == values.end() ? nullptr : &*found;
}

double number_of(const LineValue& value) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (!value.is_text)
    std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
  return number;
}

double number_in(const LineValues& values, std::string_view name) {
  const LineValue* value = find_value(values, name);
  return value ? number_of(*value) : std::numeric_limits<double>::quiet_NaN();
}

int64_t step_in(const LineValues& values) {
  const double step = number_in(values, "step");
  return step >= 0 && step < 9e15 ? int64_t(step) : -1;
}

int64_t read_steps(const std::string& path, const StepLineSink& sink) {
  if (look_at(path).kind == PathKind::nothing) return 0;
  int64_t damaged = 0, last = -1;
  LineValues values;
  Lines(path).read([&](int64_t offset, std::string_view text) {
    const int64_t step = read_line(text, values) ? step_in(values) : -1;
    if (step < 0) {
      ++damaged;
      return;
    }
    if (step <= last) sink.drop_from(step);
    last = step;
    sink.take({.step = step, .offset = offset, .text = text, .values = values});
  });
  return damaged;
}

std::string last_lines(const std::string& path, int64_t bytes) {
  if (look_at(path).kind == PathKind::nothing) return "";
  const InputFile file(path);
  const int64_t begin = std::max<int64_t>(0, file.bytes() - bytes);
  std::string text(size_t(file.bytes() - begin), '\0');
  file.read(begin, std::as_writable_bytes(std::span(text)));
  const size_t first = begin == 0 ? 0 : std::min(text.find('\n') + 1, text.size());
  const size_t end = text.rfind('\n') + 1;  // npos + 1 is 0
  return end <= first ? "" : text.substr(first, end - first);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace zero::report
