#include "zero/io/interop/json.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {
namespace {

constexpr size_t kShownBytes = 80;

/// A receiver of the parser's events. It keeps no tree and does not recurse.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(const std::string& name, const JsonLimits& limits, JsonSink& sink)
      : name_(name), limits_(limits), sink_(sink) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(int64_t(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return value > uint64_t(INT64_MAX) ? put(double(value)) : put(int64_t(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open(false); }
  bool start_array(size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    if (!level.keys.insert(key).second) {
      refuse(Exit::kInput, name_, ": \"", shown(key), "\" stands twice in one object");
    }
    if (level.keys.size() > limits_.keys) {
      refuse(Exit::kInput, name_, ": more than ", limits_.keys, " keys in one object");
    }
    path_.resize(level.path);
    path_.push_back(std::move(key));
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    const std::string_view what = error.what();
    const size_t syntax = what.find("syntax error"), tag = what.find("] ");
    const size_t begin = syntax != what.npos ? syntax : tag == what.npos ? 0 : tag + 2;
    refuse(Exit::kInput, name_, ": byte ", position, ": is no JSON: ", shown(what.substr(begin)));
  }

 private:
  struct Level {
    size_t path = 0;  ///< keys that lead here
    std::unordered_set<std::string, KeyedHash> keys = {};
  };

  bool put(JsonScalar value) {
    if (levels_.empty()) refuse(Exit::kInput, name_, ": byte 1: is no JSON object");
    sink_.value(path_, value);
    return true;
  }
  bool open(bool is_array) {
    if (levels_.empty() && is_array) refuse(Exit::kInput, name_, ": byte 1: is no JSON object");
    if (levels_.size() == limits_.depth) {
      refuse(Exit::kInput, name_, ": nested deeper than ", limits_.depth, " levels",
             path_.empty() ? "" : " at \"" + shown(path_[0]) + "\"");
    }
    sink_.open(path_, is_array);
    levels_.push_back({.path = path_.size()});
    return true;
  }
  bool close() {
    path_.resize(levels_.back().path);
    levels_.pop_back();
    sink_.close();
    return true;
  }

  const std::string& name_;
  const JsonLimits& limits_;
  JsonSink& sink_;
  std::vector<Level> levels_;
  std::vector<std::string> path_;
};

}  // namespace

void read_json(std::string_view text, const std::string& name, const JsonLimits& limits,
               JsonSink& sink) {
  Handler handler(name, limits, sink);
  nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kShownBytes)) out += uint8_t(c) < 0x20 || c == 0x7f ? '?' : c;
  return text.size() > kShownBytes ? out + "..." : out;
}

}  // namespace zero
