#include "zero/config/toml.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

#include "src/config/toml_cursor.hpp"

namespace zero {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes digits with single underscores between them. False if the word has no leading digit.
bool take_digits(std::string_view& word, std::string& digits) {
  if (word.empty() || !is_digit(word[0])) return false;
  while (!word.empty() && (is_digit(word[0]) || word[0] == '_')) {
    if (word[0] == '_' && (word.size() < 2 || !is_digit(word[1]))) return false;
    if (word[0] != '_') digits += word[0];
    word.remove_prefix(1);
  }
  return true;
}

bool take_sign(std::string_view& word, std::string& digits) {
  if (word.empty() || (word[0] != '+' && word[0] != '-')) return false;
  if (word[0] == '-') digits += '-';
  word.remove_prefix(1);
  return true;
}

/// Removes underscores and a plus from a decimal number. False if the word is not a number. Sets
/// `real` for a fraction or an exponent.
bool clean_number(std::string_view word, std::string& digits, bool& real) {
  take_sign(word, digits);
  if (word.size() > 1 && word[0] == '0' && (is_digit(word[1]) || word[1] == '_')) return false;
  if (!take_digits(word, digits)) return false;
  if (!word.empty() && word[0] == '.') {
    real = true;
    digits += '.';
    word.remove_prefix(1);
    if (!take_digits(word, digits)) return false;
  }
  if (!word.empty() && (word[0] == 'e' || word[0] == 'E')) {
    real = true;
    digits += 'e';
    word.remove_prefix(1);
    take_sign(word, digits);
    if (!take_digits(word, digits)) return false;
  }
  return word.empty();
}

template <class Number>
TomlScalar number_of(const std::string& digits, std::string_view word) {
  Number number{};
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error != std::errc() || end != last) syntax(word, " is too large or too small for a number");
  return number;
}

TomlScalar read_scalar(TextCursor& cursor) {
  const char c = cursor.peek();
  if (c == '"' || c == '\'') {
    if (cursor.peek(1) == c && cursor.peek(2) == c) {
      syntax("strings of several lines are not read; write one line");
    }
    return read_quoted(cursor, Escapes::toml);
  }
  const std::string_view word = take_word(cursor);
  if (word == "true" || word == "false") return word == "true";
  if (word == "True") syntax("True is no value; write true");
  if (word == "False") syntax("False is no value; write false");
  if (!word.empty()) return read_toml_number(word);
  if (c == '{') syntax("{inline tables} are not read; write a [section] or dotted keys");
  if (c == '[') syntax("an array inside an array is not read");
  if (cursor.done() || c == '\n' || c == '#' || c == '\r') syntax("a value is missing");
  syntax("a value cannot begin with ", quoted(c));
}

/// Skips blanks, comments and line breaks between the items of an array.
void skip_space(TextCursor& cursor) {
  for (;;) {
    cursor.skip_blanks();
    cursor.skip_comment();
    if (cursor.peek() != '\n' && cursor.peek() != '\r') return;
    cursor.take();
  }
}

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// Reads {key = value, key = value}, on one line.
TomlTable read_table(TextCursor& cursor) {
  TomlTable table;
  do {
    cursor.take();
    cursor.skip_blanks();
    const size_t first = cursor.at;
    while (is_key_char(cursor.peek())) ++cursor.at;
    const std::string key(cursor.text.substr(first, cursor.at - first));
    if (key.empty()) syntax("a table looks like {key = value, key = value}");
    for (const auto& entry : table.entries)
      if (entry.first == key) syntax(key, " stands twice in one table");
    cursor.skip_blanks();
    if (cursor.peek() != '=') syntax("key = value wants =");
    cursor.take();
    cursor.skip_blanks();
    table.entries.emplace_back(key, read_scalar(cursor));
    cursor.skip_blanks();
  } while (cursor.peek() == ',');
  if (cursor.peek() != '}') syntax("a table wants , between its keys and } at its end");
  cursor.take();
  return table;
}

TomlValue read_array(TextCursor& cursor) {
  TomlArray scalars;
  TomlTables tables;
  cursor.take();
  for (skip_space(cursor); cursor.peek() != ']'; skip_space(cursor)) {
    if (cursor.peek() == '{') {
      tables.push_back(read_table(cursor));
    } else {
      scalars.push_back(read_scalar(cursor));
      tables.push_back({.entries = {{"", scalars.back()}}});
    }
    skip_space(cursor);
    if (cursor.peek() == ']') break;
    if (cursor.peek() != ',') syntax("an array wants , between its items and ] at its end");
    cursor.take();
  }
  cursor.take();
  if (scalars.size() == tables.size()) return scalars;
  return tables;
}

std::string escaped(char control) {
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\u%04X", unsigned(uint8_t(control)));
  return buffer;
}

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    const std::string out(buffer, end);
    return out.find_first_of(".e") == out.npos ? out + ".0" : out;
  }
  std::string operator()(const std::string& value) const {
    std::string out = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += is_control(c) ? escaped(c) : std::string(1, c);
    }
    return out + '"';
  }
  std::string operator()(const TomlArray& values) const {
    std::string out = "[";
    for (const TomlScalar& value : values) {
      out += (out.size() > 1 ? ", " : "") + std::visit(Printer(), value);
    }
    return out + "]";
  }
  std::string operator()(const TomlTables& tables) const {
    std::string out = "[";
    for (const TomlTable& table : tables) out += (out.size() > 1 ? ", " : "") + (*this)(table);
    return out + "]";
  }
  std::string operator()(const TomlTable& table) const {
    std::string out;
    for (const auto& [key, value] : table.entries) {
      const std::string words = std::visit(Printer(), value);
      if (key.empty()) return words;
      out += (out.empty() ? "{" : ", ") + key + " = " + words;
    }
    return out + "}";
  }
};

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
  /// Reads a line: blank, a comment, a section or key = value. Stops at the line break.
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
  std::map<std::string, int> sections_;  // line of every section so far
  std::map<std::string, int> lines_;     // line of every key so far
  std::string section_;                  // current section, with its dot
  std::string key_;
  int line_ = 1;
};

}  // namespace

TomlScalar read_toml_number(std::string_view word) {
  std::string digits;
  bool real = false;
  if (!clean_number(word, digits, real)) {
    syntax(word,
           " is no value; text stands in \"quotes\", numbers look like 5000, 5_000, 0.1, 5e8");
  }
  return real ? number_of<double>(digits, word) : number_of<int64_t>(digits, word);
}

TomlValue read_toml_value(TextCursor& cursor) {
  if (cursor.peek() == '[') return read_array(cursor);
  return std::visit([](auto&& scalar) { return TomlValue(std::move(scalar)); },
                    read_scalar(cursor));
}

std::string to_text(const TomlValue& value) { return std::visit(Printer(), value); }

std::string_view type_name(const TomlValue& value) {
  constexpr std::string_view kNames[] = {"a boolean", "an integer", "a number",
                                         "a string",  "an array",   "an array"};
  return kNames[value.index()];
}

TomlDocument parse_toml(std::string_view text) {
  if (const auto unfit = unfit_text(text, kTomlMaxBytes, kTomlMaxLine)) {
    return {.entries = {}, .sections = {}, .problems = {{unfit->line, "", unfit->what}}};
  }
  return Parser(without_mark(text)).parse();
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
