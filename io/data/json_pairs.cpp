#include <algorithm>
#include <array>
#include <optional>

#include "io/data/pair_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

/// What stands around the texts of a line may be nested and is passed over.
constexpr JsonLimits kLimits{.depth = 32, .keys = 1 << 12};

/// What of `name` is left behind the keys of a path, joined by dots: "" where they are the name,
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
    for (size_t i = 0; i < names_.size(); ++i) {
      if (behind(path, names_[i]) == "") take(i, value);
    }
  }
  TextPair pair() {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!texts_[i]) {
        refuse(Exit::kInput, place_, ": has no text \"", shown(names_[i]),
               "\"; data.source_field and data.target_field name them");
      }
    }
    return {.source = std::move(*texts_[0]), .target = std::move(*texts_[1])};
  }

 private:
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
};

class JsonPairs : public PairFile {
 public:
  JsonPairs(const std::string& path, const PairFields& fields)
      : file_(path, kPairFileAdvice, RecordEnd::line), fields_(fields) {}

  std::string format() const override { return "JSON lines"; }
  int64_t pairs() const override { return file_.records(); }
  TextPair read(int64_t pair) const override {
    std::string room;
    const std::string name = place(pair);
    Fields found(name, fields_);
    read_json(file_.read(pair, room), name, kLimits, found);
    return found.pair();
  }
  std::string place(int64_t pair) const override { return file_.place(pair); }
  uint64_t fingerprint() const override { return file_.fingerprint(); }

 private:
  RecordFile file_;
  PairFields fields_;
};

}  // namespace

std::unique_ptr<PairFile> open_json_pairs(const std::string& path, const PairFields& fields) {
  return std::make_unique<JsonPairs>(path, fields);
}

}  // namespace zero
