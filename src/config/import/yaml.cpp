#include <utility>

#include "src/config/import/nested_file.hpp"
#include "src/config/import/rules.hpp"

namespace zero {
namespace {

std::optional<TomlValue> plain_value(const std::string& word) {
  if (word.empty() || word == "~" || has_word("null Null NULL", word)) return std::nullopt;
  if (has_word("true True TRUE yes Yes YES on On ON", word)) return true;
  if (has_word("false False FALSE no No NO off Off OFF", word)) return false;
  const bool octal = word.size() > 1 && word[0] == '0' && word[1] >= '0' && word[1] <= '9';
  const auto number = octal ? std::nullopt : python_number(word);
  return number ? *number : TomlValue(word);
}

/// Returns an item of a list; null is a word there.
TomlScalar item_of(const std::optional<TomlValue>& value) {
  return std::visit(
      [](const auto& plain) -> TomlScalar {
        if constexpr (!std::is_constructible_v<TomlScalar, decltype(plain)>) {
          return kNestedList;
        } else {
          return plain;
        }
      },
      value.value_or("null"));
}

/// Characters that end a plain name inside { }.
constexpr std::string_view kEnds = ":,{}[]\n";

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
  /// A key without a value on its line. An object, a list or null follows.
  struct Pending {
    std::string key = {};
    int line = 0;  ///< 0: no key is pending
  };

  void read_line() {
    const size_t indent = take_indent();
    const std::string_view rest = cursor_.text.substr(cursor_.at);
    const bool mark = indent == 0 && (rest.starts_with("---") || rest.starts_with("..."));
    if (mark) cursor_.at += 3;
    if (indent == 0 && rest.starts_with('%')) return cursor_.skip_line();
    if (!at_end_of_line()) {
      if (at_item()) {
        read_list(indent);
      } else if (cursor_.peek() == '{' && pending_.line == 0 && levels_.size() == 1) {
        read_object(levels_.back().path, 1);
      } else {
        enter(indent);
        read_member();
      }
    }
    end_line();
  }

  size_t take_indent() {
    size_t indent = 0;
    for (; cursor_.peek() == ' '; cursor_.take()) ++indent;
    TextCursor ahead = cursor_;
    ahead.skip_blanks();
    const bool blank = ahead.done() || ahead.peek() == '\n' || ahead.peek() == '\r';
    if (cursor_.peek() == '\t' && !blank) syntax("a tab; YAML is indented by blanks");
    return indent;
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

  /// True for a blank or the end of the line, which separate a mark from its value.
  bool parts(size_t ahead) const {
    const char c = cursor_.peek(ahead);
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
  }

  bool at_item() const { return cursor_.peek() == '-' && parts(1); }

  /// Finds the object that a line of this indentation belongs to.
  void enter(size_t indent) {
    if (indent > levels_.back().indent && pending_.line > 0) {
      check_depth(levels_.size() + 1);
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

  static void check_depth(size_t depth) {
    if (depth > size_t(kSourceMaxDepth)) {
      syntax("more than ", kSourceMaxDepth, " objects in each other");
    }
  }

  /// Reads the list of the key above: lines of equal indentation that begin with a dash.
  void read_list(size_t indent) {
    if (pending_.line == 0 || indent < levels_.back().indent) syntax("a list without a key above");
    const Pending list = std::exchange(pending_, {});
    TomlArray items;
    bool nests = false;
    do {
      cursor_.take();
      nests = !read_item(items) || nests;
      end_line();
    } while (next_item(indent, nests));
    builder_.add(list.key, nests ? TomlValue(kNestedList) : TomlValue(items), list.line);
  }

  /// Reads an item. False for more than a plain value; its line is skipped.
  bool read_item(TomlArray& items) {
    if (at_end_of_line() || at_item()) return cursor_.skip_line(), false;
    if (cursor_.peek() == '{' || cursor_.peek() == '[') return skip_flow(1), false;
    if (is_member()) return cursor_.skip_line(), false;
    items.push_back(item_of(read_value()));
    return true;
  }

  /// True if a key and its colon follow.
  bool is_member() {
    const TextCursor before = cursor_;
    if (cursor_.peek() == '"' || cursor_.peek() == '\'') {
      read_word();
    } else {
      while (!at_end_of_line() && !(cursor_.peek() == ':' && parts(1))) ++cursor_.at;
    }
    const bool member = cursor_.peek() == ':';
    cursor_ = before;
    return member;
  }

  /// Moves to the next item, skipping deeper lines.
  bool next_item(size_t indent, bool nests) {
    for (TextCursor ahead = cursor_; !cursor_.done(); cursor_.skip_line(), ahead = cursor_) {
      cursor_.take();
      const size_t found = take_indent();
      if (at_end_of_line()) continue;
      if (found == indent && at_item()) return true;
      if (found > indent && nests) continue;
      cursor_ = ahead;
      return false;
    }
    return false;
  }

  void read_member() {
    const int line = cursor_.line;
    const std::string key = builder_.member(levels_.back().path, read_name(":\n"), line);
    if (cursor_.peek() != ':') syntax("a line is key: value or # comment");
    cursor_.take();
    if (at_end_of_line()) {
      pending_ = Pending{key, line};
    } else if (cursor_.text[cursor_.at - 1] == ':') {
      syntax(key, " wants a blank behind its colon");
    } else {
      read_member_value(key, line, levels_.size());
    }
  }

  /// Reads a name. A plain name ends at one of `ends`.
  std::string read_name(std::string_view ends) {
    std::string name;
    if (cursor_.peek() == '"' || cursor_.peek() == '\'') {
      name = read_word();
    } else {
      while (!cursor_.done() && ends.find(cursor_.peek()) == ends.npos) name += cursor_.take();
      name.erase(name.find_last_not_of(" \t\r\n") + 1);
    }
    cursor_.skip_blanks();
    return name;
  }

  void read_member_value(const std::string& key, int line, size_t depth) {
    if (cursor_.peek() == '{') {
      read_object(key, depth + 1);
    } else if (cursor_.peek() == '[') {
      read_array(key, line);
    } else {
      builder_.add(key, read_value(), line);
    }
  }

  /// Skips blanks, comments and line breaks inside { } and [ ].
  void skip_space() {
    while (!cursor_.done() && at_end_of_line()) {
      cursor_.skip_line();
      cursor_.take();
    }
  }

  /// True if a comma announces another item. Stops at the item, or at `end`.
  bool another(char end) {
    skip_space();
    if (cursor_.peek() == end) return false;
    if (cursor_.peek() != ',') syntax("wants , or ", end, " in the list or object of this line");
    cursor_.take();
    return true;
  }

  void read_object(const std::string& path, size_t depth) {
    check_depth(depth);
    cursor_.take();
    for (skip_space(); cursor_.peek() != '}'; skip_space()) {
      const int line = cursor_.line;
      const bool plain = cursor_.peek() != '"' && cursor_.peek() != '\'';
      const std::string key = builder_.member(path, read_name(kEnds), line);
      const bool value = cursor_.peek() == ':';
      if (value && plain && !parts(1) && kEnds.find(cursor_.peek(1)) == kEnds.npos) {
        syntax(key, " wants a blank behind its colon");
      }
      if (value) cursor_.take();
      skip_space();
      ++flow_;
      value ? read_member_value(key, line, depth) : builder_.add(key, std::nullopt, line);
      --flow_;
      if (!another('}')) break;
    }
    cursor_.take();
  }

  void read_array(const std::string& key, int line) {
    TomlArray items;
    bool nests = false;
    cursor_.take();
    for (skip_space(); cursor_.peek() != ']'; skip_space()) {
      if (cursor_.peek() == '{' || cursor_.peek() == '[') {
        nests = true;
        skip_flow(1);
      } else {
        ++flow_;
        items.push_back(item_of(read_value()));
        --flow_;
      }
      if (!another(']')) break;
    }
    cursor_.take();
    if (nests) return builder_.add(key, kNestedList, line);
    if (!items.empty()) builder_.add(key, std::move(items), line);
  }

  /// Skips an object or a list inside a list, because no key takes one.
  void skip_flow(size_t depth) {
    check_depth(depth);
    const char end = cursor_.take() == '{' ? '}' : ']';
    for (skip_space(); cursor_.peek() != end; skip_space()) {
      if (end == '}') read_name(kEnds);
      if (cursor_.peek() == ':') cursor_.take();
      skip_space();
      ++flow_;
      const bool nests = cursor_.peek() == '{' || cursor_.peek() == '[';
      nests ? skip_flow(depth + 1) : void(read_value());
      --flow_;
      if (!another(end)) break;
    }
    cursor_.take();
  }

  std::optional<TomlValue> read_value() {
    const char first = cursor_.peek();
    if (first == '"' || first == '\'') return read_word();
    const bool ends = flow_ > 0 && (first == ',' || first == '}' || first == ']');
    if (!ends && std::string_view("[]{}&*!|>%@`?,").find(first) != std::string_view::npos) {
      syntax("a value cannot begin with ", quoted(first), " here; quote it");
    }
    return plain_value(take_plain());
  }

  /// Reads a word in quotes. In single quotes a quote is written twice.
  std::string read_word() {
    if (cursor_.peek() == '"') return read_quoted(cursor_, Escapes::json);
    std::string out;
    cursor_.take();
    for (;; out += cursor_.take()) {
      if (cursor_.done() || cursor_.peek() == '\n') syntax("the string is not closed on its line");
      if (cursor_.peek() != '\'') continue;
      cursor_.take();
      if (cursor_.peek() != '\'') return out;
    }
  }

  /// Reads a plain value up to the end of the line or a comment, which begins after a blank. Inside
  /// { } and [ ] a value also ends at one of kEnds.
  std::string take_plain() {
    const size_t first = cursor_.at;
    size_t last = first;
    while (!at_end_of_line() || (cursor_.peek() == '#' && cursor_.at == last)) {
      const char c = cursor_.peek();
      if (flow_ > 0 && c != ':' && kEnds.find(c) != kEnds.npos) break;
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
  int flow_ = 0;  // nesting depth of { } and [ ]
};

}  // namespace

Source read_yaml(std::string_view text, const std::string& file) {
  return read_with<YamlReader>(text, file);
}

}  // namespace zero
