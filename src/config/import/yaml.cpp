#include <algorithm>

#include "src/config/import/rules.hpp"
#include "src/config/import/source.hpp"

namespace zero {
namespace {

bool is_one_of(std::string_view words, const std::string& word) {
  return std::ranges::count(words_of(words), word) > 0;
}

std::optional<TomlValue> plain_value(const std::string& word) {
  if (word.empty() || word == "~" || is_one_of("null Null NULL", word)) return std::nullopt;
  if (is_one_of("true True TRUE yes Yes YES on On ON", word)) return true;
  if (is_one_of("false False FALSE no No NO off Off OFF", word)) return false;
  TomlValue number;
  std::string ignored;
  const bool digit = std::string_view("+-0123456789").find(word[0]) != std::string_view::npos;
  if (digit && parse_toml_value(word, number, ignored)) return number;
  return word;
}

class YamlReader {
 public:
  YamlReader(TextCursor& cursor, SourceBuilder& builder) : cursor_(cursor), builder_(builder) {}

  void read() {
    for (; !cursor_.done(); cursor_.take()) read_line();
    close_pending();
  }

 private:
  struct Level {
    size_t indent;
    std::string path;
  };
  /// A key without a value on its line: an object if the next line is deeper, else null.
  struct Pending {
    std::string key = {};
    int line = 0;  ///< 0: there is none
  };

  void read_line() {
    size_t indent = 0;
    for (; cursor_.peek() == ' '; cursor_.take()) ++indent;
    if (cursor_.peek() == '\t') syntax("a tab; YAML is indented by blanks");
    if (indent == 0 && cursor_.text.substr(cursor_.at).starts_with("---")) cursor_.at += 3;
    if (!at_end_of_line()) {
      enter(indent);
      read_member();
    }
    end_line();
  }

  bool at_end_of_line() {
    cursor_.skip_blanks();
    const char c = cursor_.peek();
    return cursor_.done() || c == '\n' || c == '#' || (c == '\r' && cursor_.peek(1) == '\n');
  }

  void end_line() {
    if (!at_end_of_line()) syntax("unexpected ", quoted(cursor_.peek()), " behind the value");
    cursor_.skip_line();
  }

  /// Finds the object that a line of this indentation belongs to.
  void enter(size_t indent) {
    if (indent > levels_.back().indent && pending_.line > 0) {
      if (int(levels_.size()) >= kSourceMaxDepth) {
        syntax("more than ", kSourceMaxDepth, " objects in each other");
      }
      levels_.push_back({indent, pending_.key});
      pending_ = {};
      return;
    }
    close_pending();
    while (indent < levels_.back().indent) levels_.pop_back();
    if (indent != levels_.back().indent) syntax("an indentation that no line above has");
  }

  void close_pending() {
    if (pending_.line > 0) builder_.add(pending_.key, std::nullopt, pending_.line);
    pending_ = {};
  }

  void read_member() {
    if (cursor_.peek() == '-') syntax("lists are read as [] only");
    const size_t first = cursor_.at;
    while (!cursor_.done() && cursor_.peek() != '\n' && cursor_.peek() != ':') ++cursor_.at;
    const std::string name(cursor_.text.substr(first, cursor_.at - first));
    if (cursor_.peek() != ':') syntax("a line is key: value or # comment");
    const int line = cursor_.line;
    const std::string key = builder_.member(levels_.back().path, name, line);
    cursor_.take();
    if (at_end_of_line()) {
      pending_ = Pending{key, line};
    } else if (cursor_.text[cursor_.at - 1] == ':') {
      syntax(key, " wants a blank behind its colon");
    } else if (!take_empty()) {
      builder_.add(key, read_value(), line);
    }
  }

  bool take_empty() {
    const std::string_view remaining = cursor_.text.substr(cursor_.at);
    const bool empty = remaining.starts_with("{}") || remaining.starts_with("[]");
    if (empty) cursor_.at += 2;
    return empty;
  }

  std::optional<TomlValue> read_value() {
    const char first = cursor_.peek();
    if (first == '"') return read_quoted(cursor_, Escapes::json);
    if (first == '\'') return read_single_quoted();
    if (std::string_view("[]{}&*!|>%@`?,").find(first) != std::string_view::npos) {
      syntax("a value cannot begin with ", quoted(first), " here; quote it");
    }
    return plain_value(take_plain());
  }

  std::string read_single_quoted() {
    std::string out;
    cursor_.take();
    for (;; out += cursor_.take()) {
      if (cursor_.done() || cursor_.peek() == '\n') syntax("the string is not closed on its line");
      if (cursor_.peek() != '\'') continue;
      cursor_.take();
      if (cursor_.peek() != '\'') return out;
    }
  }

  /// Up to a comment, which begins after a blank, or to the end of the line.
  std::string take_plain() {
    const size_t first = cursor_.at;
    size_t last = first;
    while (!at_end_of_line() || (cursor_.peek() == '#' && cursor_.at == last)) {
      last = ++cursor_.at;
    }
    const std::string_view plain = cursor_.text.substr(first, last - first);
    if (plain.find(": ") != plain.npos) syntax("a colon inside a value; quote it");
    return std::string(plain);
  }

  TextCursor& cursor_;
  SourceBuilder& builder_;
  std::vector<Level> levels_ = {{0, ""}};
  Pending pending_;
};

}  // namespace

Source read_yaml(std::string_view text, const std::string& file) {
  return read_with<YamlReader>(text, file);
}

}  // namespace zero
