#include <charconv>
#include <cstdio>

#include "src/config/text_cursor.hpp"

namespace zero {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes digits and single underscores between them; false if there is no digit at the front.
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

/// Cleans a decimal number of underscores and a plus; false if it is none. `real` is set by a
/// fraction or an exponent.
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

/// Blanks, comments and line breaks between the items of an array.
void skip_space(TextCursor& cursor) {
  for (;;) {
    cursor.skip_blanks();
    cursor.skip_comment();
    if (cursor.peek() != '\n' && cursor.peek() != '\r') return;
    cursor.take();
  }
}

TomlArray read_array(TextCursor& cursor) {
  TomlArray array;
  cursor.take();
  for (skip_space(cursor); cursor.peek() != ']'; skip_space(cursor)) {
    array.push_back(read_scalar(cursor));
    skip_space(cursor);
    if (cursor.peek() == ']') break;
    if (cursor.peek() != ',') syntax("an array wants , between its items and ] at its end");
    cursor.take();
  }
  cursor.take();
  return array;
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
  constexpr std::string_view kNames[] = {"a boolean", "an integer", "a number", "a string",
                                         "an array"};
  return kNames[value.index()];
}

}  // namespace zero
