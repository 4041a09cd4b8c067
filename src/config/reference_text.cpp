#include "src/config/reference_text.hpp"

#include <utility>

#include "zero/base/text.hpp"

namespace zero {
namespace {

/// True if a line of a comment begins the sentence that says when to change the key.
bool begins_advice(std::string_view words) {
  for (const std::string_view verb : {"Write ", "Raise ", "Lower ", "Change ", "As "}) {
    if (words.starts_with(verb)) return true;
  }
  return false;
}

/// Appends the words behind the # of a comment.
void add_words(std::string& out, std::string_view comment) {
  const size_t begin = comment.find_first_not_of("# ");
  if (begin == comment.npos) return;
  const size_t end = comment.find_last_not_of(kBlanks);
  const std::string_view words = comment.substr(begin, end - begin + 1);
  if (!out.empty()) out += begins_advice(words) && !out.ends_with('.') ? ". " : " ";
  out += words;
}

/// Returns the index of the # that begins a comment, or the size of the line.
size_t comment_of(std::string_view line) {
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') is_quoted = !is_quoted;
    if (line[i] == '#' && !is_quoted) return i;
  }
  return line.size();
}

class ReferenceReader {
 public:
  void read(std::string_view line) {
    const size_t mark = comment_of(line);
    const std::string_view code = line.substr(0, mark), comment = line.substr(mark);
    if (is_blank(line)) {
      group_.clear();
    } else if (code.starts_with("[")) {
      section_ = text(code.substr(1, code.find(']') - 1), ".");
      add_words(group_, comment);
    } else if (const size_t equals = code.find(" = "); equals != code.npos) {
      entry_ = &entries_[section_ + std::string(code.substr(0, equals))];
      entry_->group = std::exchange(group_, "");
      add_words(entry_->text, comment);
    } else {
      add_words(mark == 0 || !entry_ ? group_ : entry_->text, comment);
    }
  }
  std::map<std::string, ReferenceEntry> take() { return std::move(entries_); }

 private:
  std::map<std::string, ReferenceEntry> entries_;
  ReferenceEntry* entry_ = nullptr;
  std::string section_, group_;
};

}  // namespace

std::map<std::string, ReferenceEntry> entries_of_reference(std::string_view reference) {
  ReferenceReader reader;
  while (!reference.empty()) {
    const size_t end = std::min(reference.find('\n'), reference.size());
    reader.read(reference.substr(0, end));
    reference.remove_prefix(std::min(end + 1, reference.size()));
  }
  return reader.take();
}

}  // namespace zero
