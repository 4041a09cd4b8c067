#include "src/config/import/nested_file.hpp"

namespace zero {
namespace {

class JsonReader {
 public:
  JsonReader(TextCursor& cursor, SourceBuilder& builder) : cursor_(cursor), builder_(builder) {}

  void read() {
    skip_space();
    if (cursor_.peek() != '{')
      syntax("the file is no { object } of JSON; a YAML file's name ends in .yaml");
    read_object("", 1);
    skip_space();
    if (!cursor_.done()) syntax("unexpected ", quoted(cursor_.peek()), " behind the last }");
  }

 private:
  void skip_space() {
    for (;; cursor_.take()) {
      skip_comments();
      const char c = cursor_.peek();
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    }
  }

  void skip_comments() {
    while (cursor_.peek() == '#' || cursor_.peek() == '/') {
      if (cursor_.peek() == '#' || cursor_.peek(1) == '/') {
        cursor_.skip_line();
      } else if (cursor_.peek(1) == '*') {
        skip_block_comment();
      } else {
        return;
      }
    }
  }

  void skip_block_comment() {
    const int first = cursor_.line;
    cursor_.at += 2;
    while (cursor_.peek() != '*' || cursor_.peek(1) != '/') {
      if (cursor_.done()) syntax("the /* of line ", first, " has no */");
      cursor_.take();
    }
    cursor_.at += 2;
  }

  void read_object(const std::string& path, int depth) {
    if (depth > kSourceMaxDepth) syntax("more than ", kSourceMaxDepth, " objects in each other");
    cursor_.take();
    for (skip_space(); cursor_.peek() != '}'; skip_space()) {
      read_member(path, depth);
      if (!another('}')) break;
    }
    cursor_.take();
  }

  /// True if a comma announces another item. Stops at the item, or at `end`.
  bool another(char end) {
    skip_space();
    if (cursor_.peek() == end) return false;
    if (cursor_.peek() != ',') {
      syntax("wants , or ", end, cursor_.done() ? " before the end of the file" : " before ",
             cursor_.done() ? "" : quoted(cursor_.peek()));
    }
    cursor_.take();
    return true;
  }

  void read_member(const std::string& path, int depth) {
    const int line = cursor_.line;
    if (cursor_.peek() != '"') syntax("a key stands in \"double quotes\"");
    const std::string key = builder_.member(path, read_quoted(cursor_, Escapes::json), line);
    skip_space();
    if (cursor_.peek() != ':') syntax(key, " wants : and a value");
    cursor_.take();
    skip_space();
    if (cursor_.peek() == '{') {
      read_object(key, depth + 1);
    } else if (cursor_.peek() == '[') {
      read_array(key, line);
    } else {
      read_plain(key, line);
    }
  }

  bool at_nested() { return cursor_.peek() == '[' || cursor_.peek() == '{'; }

  void read_array(const std::string& key, int line) {
    TomlArray array;
    bool nests = false;
    cursor_.take();
    for (skip_space(); cursor_.peek() != ']'; skip_space()) {
      if (at_nested()) {
        nests = true;
        skip_value(1);
      } else {
        array.push_back(read_scalar());
      }
      if (!another(']')) break;
    }
    cursor_.take();
    if (nests) return builder_.add(key, kNestedList, line);
    if (!array.empty()) builder_.add(key, std::move(array), line);
  }

  /// Skips a value inside a list, because no key takes one.
  void skip_value(int depth) {
    if (depth > kSourceMaxDepth) syntax("more than ", kSourceMaxDepth, " objects in each other");
    if (!at_nested()) {
      TextCursor ahead = cursor_;
      const bool null = cursor_.peek() != '"' && take_word(ahead) == "null";
      return null ? void(cursor_ = ahead) : void(read_scalar());
    }
    const char end = cursor_.take() == '{' ? '}' : ']';
    for (skip_space(); cursor_.peek() != end; skip_space()) {
      if (end == '}') skip_name();
      skip_value(depth + 1);
      if (!another(end)) break;
    }
    cursor_.take();
  }

  void skip_name() {
    if (cursor_.peek() != '"') syntax("a key stands in \"double quotes\"");
    read_quoted(cursor_, Escapes::json);
    skip_space();
    if (cursor_.peek() != ':') syntax("a key wants : and a value");
    cursor_.take();
    skip_space();
  }

  void read_plain(const std::string& key, int line) {
    TextCursor ahead = cursor_;
    if (take_word(ahead) == "null") {
      cursor_ = ahead;
      builder_.add(key, std::nullopt, line);
    } else {
      const TomlScalar scalar = read_scalar();
      builder_.add(key, std::visit([](const auto& x) { return TomlValue(x); }, scalar), line);
    }
  }

  TomlScalar read_scalar() {
    if (cursor_.peek() == '"') return read_quoted(cursor_, Escapes::json);
    const std::string_view word = take_word(cursor_);
    if (word == "true" || word == "false") return word == "true";
    if (word == "True" || word == "False") syntax(word, " is Python; write true or false");
    if (word.empty()) syntax("a value cannot begin with ", quoted(cursor_.peek()));
    return read_number(word);
  }

  /// Parses a number. Errors do not show the word, because it may be a secret without quotes.
  static TomlScalar read_number(std::string_view word) {
    try {
      if (word[0] != '+' && word.find('_') == word.npos) return read_toml_number(word);
    } catch (const SyntaxError&) {
    }
    syntax(
        "a value is no number of JSON; text stands in \"quotes\", numbers look like 5000, 0.1, "
        "5e8; NaN and Infinity are none");
  }

  TextCursor& cursor_;
  SourceBuilder& builder_;
};

}  // namespace

Source read_json(std::string_view text, const std::string& file) {
  return read_with<JsonReader>(text, file);
}

}  // namespace zero
