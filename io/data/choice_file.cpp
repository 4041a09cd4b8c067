#include "io/data/choice_file.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "io/data/field_file.hpp"
#include "zero/base/text.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

constexpr const char *kContext = "context", *kChoices = "choices", *kAnswer = "answer",
                     *kDelimiter = "target_delimiter";
constexpr const char* kAdvice =
    "write JSON lines as {\"context\": \"2 + 2 =\", \"choices\": [\"3\", \"4\"], \"answer\": 1}";

/// A receiver of a record's fields.
class Fields : public JsonSink {
 public:
  /// REQUIRES: `place`, that of the record, outlives the receiver.
  explicit Fields(const std::string& place) : place_(place) {}

  void open(Path path, bool is_array) override {
    if (path.empty()) return;
    const std::string& name = path.front();
    const bool is_list = name == kChoices && is_array && path.size() == 1 && !has_choices_;
    if (is_list) has_choices_ = true;
    if (is_list || (name != kChoices && !is_text_field(name) && name != kAnswer)) return;
    fail(name, name == kChoices ? " is no array of texts" : " is a list or an object");
  }
  void value(Path path, const JsonScalar& value) override {
    const std::string& name = path.front();
    if (name == kAnswer) answer_ = value;
    if (name != kChoices && !is_text_field(name)) return;
    const auto* text = std::get_if<std::string>(&value);
    if (!text || (name == kChoices && !has_choices_)) fail(name, " holds what is no text");
    if (name == kContext) context_ = *text;
    if (name == kDelimiter) record_.delimiter = *text;
    if (name == kChoices) record_.choices.push_back(*text);
  }

  ChoiceRecord finish() {
    if (!context_) fail(kContext, " is missing");
    if (record_.choices.empty()) fail(kChoices, has_choices_ ? " is empty" : " is missing");
    for (const std::string& choice : record_.choices)
      if (choice.empty()) fail(kChoices, " holds an empty text, whose score no length divides");
    record_.context = std::move(*context_);
    record_.answer = answer();
    return std::move(record_);
  }

 private:
  static bool is_text_field(std::string_view name) {
    return name == kContext || name == kDelimiter;
  }
  int64_t answer() const {
    const int64_t count = int64_t(record_.choices.size());
    int64_t index = -1;
    if (const auto* number = std::get_if<int64_t>(&answer_)) index = *number;
    if (const auto* words = std::get_if<std::string>(&answer_))
      index = std::ranges::find(record_.choices, *words) - record_.choices.begin();
    if (index < 0 || index >= count) {
      fail(kAnswer, text(" names no choice; write 0 to ", count - 1, ", or the text of one"));
    }
    return index;
  }
  [[noreturn]] void fail(std::string_view field, const std::string& fault) const {
    const bool advises = fault.find("; write") != fault.npos;
    refuse(Exit::kInput, place_, ": \"", field, '"', fault, advises ? "" : "; ",
           advises ? "" : kAdvice);
  }

  const std::string& place_;
  ChoiceRecord record_;
  std::optional<std::string> context_;
  JsonScalar answer_ = nullptr;
  bool has_choices_ = false;
};

const std::string& require_json(const std::string& path) {
  if (names_json(path)) return path;
  refuse(Exit::kInput, path, ": its name is none of JSON lines; write a .jsonl file");
}

}  // namespace

ChoiceFile::ChoiceFile(const std::string& path)
    : lines_(require_json(path), kAdvice, RecordEnd::line) {
  if (records() == 0) lines_.damaged(0, "holds blank lines alone; ", kAdvice);
}

ChoiceRecord ChoiceFile::read(int64_t record) const {
  std::string room;
  const std::string_view line = lines_.read(record, room);
  require_object(lines_, record, line);
  const std::string name = place(record);
  Fields fields(name);
  read_json(line, name, kLineLimits, fields);
  return fields.finish();
}

}  // namespace zero
