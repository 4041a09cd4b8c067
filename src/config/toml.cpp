#include "zero/config/toml.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "src/config/toml_cursor.hpp"
#include "zero/base/utf8.hpp"

namespace zero {
namespace {

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : cursor_{text} {}

  TomlDocument parse() {
    while (!cursor_.done() && document_.problems.size() < kTomlMaxProblems) {
      key_.clear();
      line_ = cursor_.line;
      try {
        read_statement();
      } catch (const TomlSyntax& syntax) {
        document_.problems.push_back({cursor_.line, key_, syntax.what});
        cursor_.skip_line();
      }
      cursor_.take();
    }
    return std::move(document_);
  }

 private:
  /// One line: blank, a comment, a section or key = value. Stops at the line break.
  void read_statement() {
    cursor_.skip_blanks();
    if (cursor_.peek() == '[') {
      read_section();
    } else if (is_key_char(cursor_.peek()) || cursor_.peek() == '"' || cursor_.peek() == '\'') {
      read_assignment();
    }
    end_line();
  }

  void end_line() {
    cursor_.skip_blanks();
    cursor_.skip_comment();
    if (cursor_.peek() == '\r' && cursor_.peek(1) == '\n') cursor_.take();
    if (!cursor_.done() && cursor_.peek() != '\n') {
      syntax("unexpected ", quoted(cursor_.peek()),
             "; a line is [section], key = value or # comment");
    }
  }

  std::string read_key() {
    std::string key;
    for (size_t depth = 1;; ++depth) {
      if (depth > kTomlMaxDepth) syntax("a key of more than ", kTomlMaxDepth, " parts");
      const size_t first = cursor_.at;
      while (is_key_char(cursor_.peek())) ++cursor_.at;
      if (cursor_.at == first) syntax("a key is made of A-Z a-z 0-9 _ -, without quotes");
      key += cursor_.text.substr(first, cursor_.at - first);
      cursor_.skip_blanks();
      if (cursor_.peek() != '.') return key;
      cursor_.take();
      cursor_.skip_blanks();
      key += '.';
    }
  }

  void read_section() {
    section_.clear();
    cursor_.take();
    if (cursor_.peek() == '[') syntax("[[arrays of tables]] are not read; write [section]");
    cursor_.skip_blanks();
    const std::string name = read_key();
    if (cursor_.peek() != ']') syntax("[", name, " wants ]");
    cursor_.take();
    section_ = name + ".";
    key_ = name;
    if (!sections_.insert(name).second) syntax("the section stands twice; join them");
  }

  void read_assignment() {
    key_ = section_;
    key_ += read_key();
    if (cursor_.peek() != '=') syntax("key = value wants =");
    cursor_.take();
    cursor_.skip_blanks();
    TomlValue value = read_toml_value(cursor_);
    refuse_duplicate();
    lines_[key_] = line_;
    document_.entries.push_back({key_, std::move(value), line_});
  }

  void refuse_duplicate() const {
    const auto twice = lines_.find(key_);
    if (twice != lines_.end()) syntax("the key stands twice, first in line ", twice->second);
    const auto below = lines_.lower_bound(key_ + ".");
    if (below != lines_.end() && below->first.starts_with(key_ + ".")) refuse_nested(below->second);
    for (size_t dot = key_.find('.'); dot != key_.npos; dot = key_.find('.', dot + 1)) {
      const auto above = lines_.find(key_.substr(0, dot));
      if (above != lines_.end()) refuse_nested(above->second);
    }
  }
  [[noreturn]] static void refuse_nested(int line) {
    syntax("is both a value and a section, see line ", line);
  }

  TomlCursor cursor_;
  TomlDocument document_;
  std::set<std::string> sections_;
  std::map<std::string, int> lines_;  // of every key so far
  std::string section_;               // with its dot
  std::string key_;
  int line_ = 1;
};

/// What makes a text unfit before any grammar: its length, its lines, bytes that no text has.
void check_bytes(std::string_view text, std::vector<TomlProblem>& problems) {
  if (text.size() > kTomlMaxBytes) {
    problems.push_back(
        {1, "",
         zero::text("the file has ", text.size(), " bytes; at most ", kTomlMaxBytes, " are read")});
    return;
  }
  Utf8Checker utf8;
  int line = 1;
  size_t column = 0;
  for (const char c : text) {
    const bool control = (uint8_t(c) < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 127;
    if (control || !utf8.accept(uint8_t(c))) {
      problems.push_back({line, "", quoted(c) + " is no UTF-8 text"});
      return;
    }
    if (++column > kTomlMaxLine) {
      problems.push_back({line, "", zero::text("a line of more than ", kTomlMaxLine, " bytes")});
      return;
    }
    if (c == '\n') ++line, column = 0;
  }
  if (!utf8.complete()) problems.push_back({line, "", "the last character is cut off"});
}

}  // namespace

TomlDocument parse_toml(std::string_view text) {
  TomlDocument unfit;
  check_bytes(text, unfit.problems);
  return unfit.problems.empty() ? Parser(text).parse() : unfit;
}

bool parse_toml_value(std::string_view text, TomlValue& value, std::string& what) {
  TomlDocument unfit;
  check_bytes(text, unfit.problems);
  if (!unfit.problems.empty()) {
    what = unfit.problems[0].what;
    return false;
  }
  TomlCursor cursor{text};
  try {
    value = read_toml_value(cursor);
    if (!cursor.done()) syntax("unexpected ", quoted(cursor.peek()), " after the value");
  } catch (const TomlSyntax& syntax) {
    what = syntax.what;
    return false;
  }
  return true;
}

bool is_toml_key(std::string_view key) {
  const bool chars =
      std::all_of(key.begin(), key.end(), [](char c) { return is_key_char(c) || c == '.'; });
  const bool parts =
      !key.empty() && key.front() != '.' && key.back() != '.' && key.find("..") == key.npos;
  return chars && parts && size_t(std::count(key.begin(), key.end(), '.')) < kTomlMaxDepth;
}

}  // namespace zero
