#include <algorithm>
#include <array>
#include <optional>

#include "io/data/pair_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

/// What stands around the texts of a line may be nested and is passed over.
constexpr JsonLimits kLimits{.depth = 32, .keys = 1 << 12};

/// What of `name` is left after the keys of a path, joined by dots: "" where they are the name,
/// ".en" where they lead to it; none where they lead elsewhere.
std::optional<std::string_view> behind(JsonSink::Path path, std::string_view name) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (i > 0 && !name.starts_with('.')) return std::nullopt;
    if (i > 0) name.remove_prefix(1);
    if (!name.starts_with(path[i])) return std::nullopt;
    name.remove_prefix(path[i].size());
  }
  if (name.empty() || name.starts_with('.')) return name;
  return std::nullopt;
}

/// Takes two fields of an object.
class Fields : public JsonSink {
 public:
  Fields(const std::string& place, const PairFields& names)
      : place_(place), names_{names.source, names.target} {}

  void open(Path path, bool is_array) override {
    for (size_t i = 0; is_array && i < names_.size(); ++i) {
      in_array_[i] = in_array_[i] || behind(path, names_[i]).has_value();
    }
  }
  void value(Path path, const JsonScalar& value) override {
    if (std::holds_alternative<std::string>(value)) note(path);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (behind(path, names_[i]) == "") take(i, value);
    }
  }
  TextPair pair() {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!texts_[i]) {
        refuse(Exit::kInput, place_, ": has no text \"", shown(names_[i]), "\"", there_,
               "; data.source_field and data.target_field name them");
      }
    }
    return {.source = std::move(*texts_[0]), .target = std::move(*texts_[1])};
  }

 private:
  /// The names of some texts that are there, for whoever asks for another.
  void note(Path path) {
    constexpr size_t kMostNamed = 6;
    if (++texts_there_ > kMostNamed) return;
    std::string name;
    for (const std::string& key : path) name += (name.empty() ? "" : ".") + key;
    there_ += (there_.empty() ? " but \"" : ", \"") + shown(name) + "\"";
  }
  void take(size_t field, const JsonScalar& value) {
    const std::string* text = std::get_if<std::string>(&value);
    if (!text || in_array_[field]) {
      refuse(Exit::kInput, place_, ": \"", shown(names_[field]), "\" is no text",
             in_array_[field] ? " but an array, or in one" : "");
    }
    if (texts_[field]) {
      refuse(Exit::kInput, place_, ": \"", shown(names_[field]), "\" stands there twice");
    }
    texts_[field] = *text;
  }

  const std::string& place_;
  std::array<std::string, 2> names_;
  std::array<std::optional<std::string>, 2> texts_;
  std::array<bool, 2> in_array_ = {};
  std::string there_;
  size_t texts_there_ = 0;
};

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

/// What of a line of a file that was made for people, over several lines an object.
bool is_part(std::string_view line) {
  const size_t last = line.find_last_not_of(" \t\r");
  return last != line.npos && line[last] != '}';
}

class JsonPairs : public PairFile {
 public:
  JsonPairs(const std::string& path, const PairFields& fields)
      : file_(path, kPairFileAdvice, RecordEnd::line), fields_(fields) {}

  std::string format() const override { return "JSON lines"; }
  int64_t pairs() const override { return file_.records(); }
  TextPair read(int64_t pair) const override {
    std::string room;
    const std::string name = place(pair);
    const std::string_view line = file_.read(pair, room);
    require_object(line, pair);
    Fields found(name, fields_);
    read_json(line, name, kLimits, found);
    return found.pair();
  }
  std::string place(int64_t pair) const override { return file_.place(pair); }
  uint64_t fingerprint() const override { return file_.fingerprint(); }

 private:
  /// A line that cannot be one says how the file would have to be.
  void require_object(std::string_view line, int64_t pair) const {
    if (is_blank(line)) file_.damaged(pair, "is blank; remove it, as each line is one object");
    if (!is_part(line)) return;
    file_.damaged(pair, "holds \"", shown(line),
                  "\", which is no whole object; write one object a ",
                  "line, as jq -c '.[]' makes them of a list and jq -c . of objects");
  }

  RecordFile file_;
  PairFields fields_;
};

}  // namespace

std::unique_ptr<PairFile> open_json_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<JsonPairs>(path, fields);
}

}  // namespace zero
