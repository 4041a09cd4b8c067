#include "zero/config/toml.hpp"

#include <algorithm>
#include <map>

#include "src/config/text_cursor.hpp"

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
      } catch (const SyntaxError& syntax) {
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
    const auto [first, is_new] = sections_.emplace(name, line_);
    if (!is_new) {
      syntax("the section stands twice, first in line ", first->second, "; join them");
    }
    document_.sections.push_back({name, line_});
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
    document_.entries.push_back({key_, section_name(), std::move(value), line_});
  }

  std::string section_name() const {
    return section_.empty() ? section_ : section_.substr(0, section_.size() - 1);
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

  TextCursor cursor_;
  TomlDocument document_;
  std::map<std::string, int> sections_;  // the line of every one so far
  std::map<std::string, int> lines_;     // of every key so far
  std::string section_;                  // with its dot
  std::string key_;
  int line_ = 1;
};

}  // namespace

TomlDocument parse_toml(std::string_view text) {
  if (const auto unfit = unfit_text(text, kTomlMaxBytes, kTomlMaxLine)) {
    return {.entries = {}, .sections = {}, .problems = {{unfit->line, "", unfit->what}}};
  }
  return Parser(text).parse();
}

bool parse_toml_value(std::string_view text, TomlValue& value, std::string& what) {
  if (const auto unfit = unfit_text(text, kTomlMaxBytes, kTomlMaxLine)) {
    what = unfit->what;
    return false;
  }
  TextCursor cursor{text};
  try {
    value = read_toml_value(cursor);
    if (!cursor.done()) syntax("unexpected ", quoted(cursor.peek()), " after the value");
  } catch (const SyntaxError& syntax) {
    what = syntax.what;
    return false;
  }
  return true;
}

bool parse_toml_word(std::string_view word, TomlValue& value, std::string& what) {
  if (parse_toml_value(word, value, what)) return true;
  const bool meant =
      !word.empty() && std::string_view("\"'[{").find(word[0]) != std::string_view::npos;
  if (!meant) value = std::string(word);
  return !meant;
}

bool is_toml_key(std::string_view key) {
  const bool chars =
      std::all_of(key.begin(), key.end(), [](char c) { return is_key_char(c) || c == '.'; });
  const bool parts =
      !key.empty() && key.front() != '.' && key.back() != '.' && key.find("..") == key.npos;
  return chars && parts && size_t(std::count(key.begin(), key.end(), '.')) < kTomlMaxDepth;
}

}  // namespace zero
