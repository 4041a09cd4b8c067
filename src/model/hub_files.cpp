#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/model/family.hpp"

namespace zero::model {
namespace {

using Values = std::map<std::string, JsonScalar>;
using Lists = std::map<std::string, std::vector<JsonScalar>>;

/// A reader of scalars, and of lists by the side.
class Scalars : public JsonSink {
 public:
  Scalars(Values& values, Lists& lists) : values_(values), lists_(lists) {}
  void open(Path path, bool is_array) override {
    if (is_array) lists_[key_of(path)];
  }
  void value(Path path, const JsonScalar& value) override {
    const std::string key = key_of(path);
    values_[key] = value;
    const auto list = lists_.find(key);
    if (list != lists_.end()) list->second.push_back(value);
  }

 private:
  static std::string key_of(Path path) {
    std::string key;
    for (const std::string& part : path) key += (key.empty() ? "" : ".") + part;
    return key;
  }

  Values& values_;
  Lists& lists_;
};

std::string shown_json(const JsonScalar& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return text('"', shown(*word), '"');
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return text(*whole);
  const auto* number = std::get_if<double>(&value);
  return number ? text(*number) : "null";
}

}  // namespace

HubConfig::HubConfig(std::string_view content, std::string name) : name_(std::move(name)) {
  Scalars scalars(values_, lists_);
  read_json(content, name_, {.depth = 8, .keys = 20'000}, scalars);
}

bool HubConfig::names(const std::string& key) const {
  asked_.insert(key);
  return values_.contains(key) || lists_.contains(key) || opens(key);
}

bool HubConfig::opens(const std::string& key) const {
  const auto inside = values_.lower_bound(key + ".");
  const auto list = lists_.lower_bound(key + ".");
  return (inside != values_.end() && inside->first.starts_with(key + ".")) ||
         (list != lists_.end() && list->first.starts_with(key + "."));
}

std::vector<double> HubConfig::numbers(const std::string& key) const {
  asked_.insert(key);
  const auto list = lists_.find(key);
  std::vector<JsonScalar> values;
  if (list != lists_.end()) {
    values = list->second;
  } else if (has(key)) {
    values = {values_.at(key)};
  }
  std::vector<double> numbers;
  for (const JsonScalar& value : values) {
    const auto* whole = std::get_if<int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    if (!whole && !real) fail(key, "write numbers");
    numbers.push_back(whole ? double(*whole) : *real);
  }
  return numbers;
}

std::vector<int64_t> HubConfig::wholes(const std::string& key, int64_t most) const {
  std::vector<int64_t> wholes;
  for (const double number : numbers(key)) {
    if (!(number >= 0 && number <= double(most)) || number != double(int64_t(number)))
      fail(key, text("write integers from 0 to ", most));
    wholes.push_back(int64_t(number));
  }
  return wholes;
}

int64_t HubConfig::count(const std::string& key, int64_t most) const {
  const int64_t* number = find<int64_t>(key);
  if (!number || *number < 1 || *number > most) fail(key, text("write 1 to ", most));
  return *number;
}

int64_t HubConfig::count_or(const std::string& key, int64_t most, int64_t otherwise) const {
  return has(key) ? count(key, most) : otherwise;
}

int64_t HubConfig::whole_or(const std::string& key, int64_t otherwise) const {
  const int64_t* number = find<int64_t>(key);
  if (has(key) && !number) fail(key, "write an integer");
  return number ? *number : otherwise;
}

std::vector<std::string> HubConfig::words(const std::string& key) const {
  asked_.insert(key);
  std::vector<std::string> words;
  const auto list = lists_.find(key);
  if (list == lists_.end()) {
    if (has(key)) words.push_back(word_or(key, ""));
    return words;
  }
  for (const JsonScalar& value : list->second) {
    const auto* word = std::get_if<std::string>(&value);
    if (!word) fail(key, "write strings");
    words.push_back(*word);
  }
  return words;
}

std::vector<std::string> HubConfig::numbered_words(const std::string& key) const {
  std::vector<std::string> words;
  std::set<std::string> known;
  for (std::string at = key + ".0"; has(at); at = text(key, '.', words.size())) {
    const int64_t* whole = find<int64_t>(at);
    const std::string* word = find<std::string>(at);
    const std::string shown_value = shown_json(values_.at(at));
    if (!whole && !word)
      refuse(Exit::kInput, name_, ": ", at, ": ", shown_value, " is no name; write a string");
    words.push_back(word ? *word : text(*whole));
    if (known.insert(words.back()).second) continue;
    refuse(Exit::kInput, name_, ": ", at, ": ", shown_value,
           " is the name of an earlier key too; write another");
  }
  const std::string begin = key + ".";
  const auto inside = std::count_if(values_.begin(), values_.end(),
                                    [&](const auto& one) { return one.first.starts_with(begin); });
  if (inside != ptrdiff_t(words.size())) {
    refuse(Exit::kInput, name_, ": ", key, ": has ", counted(inside, "key"), ", and none \"",
           words.size(), "\" with a name; write a name for each of \"0\", \"1\", \"2\" and so on");
  }
  return words;
}

std::string HubConfig::word_or(const std::string& key, const std::string& otherwise) const {
  const std::string* word = find<std::string>(key);
  if (has(key) && !word) fail(key, "write a string");
  return word ? *word : otherwise;
}

double HubConfig::number_or(const std::string& key, double low, double high,
                            double otherwise) const {
  const double number = real_or(key, otherwise);
  if (has(key) && !(number >= low && number <= high)) fail(key, text("write ", low, " to ", high));
  return number;
}

double HubConfig::real_or(const std::string& key, double otherwise) const {
  if (!has(key)) return otherwise;
  if (const int64_t* whole = find<int64_t>(key)) return double(*whole);
  const double* number = find<double>(key);
  if (!number) fail(key, "write a number");
  return *number;
}

float HubConfig::epsilon_or(const std::string& key, double otherwise) const {
  const double epsilon = real_or(key, otherwise);
  if (!(float(epsilon) > 0 && epsilon <= 1)) fail(key, "write above 0 to 1");
  return float(epsilon);
}

float HubConfig::share_or(const std::string& key, double otherwise) const {
  const double share = real_or(key, otherwise);
  if (!(share >= 0 && float(share) < 1)) fail(key, "write 0 to below 1");
  return float(share);
}

void HubConfig::require(const std::string& key, bool wanted) const {
  const bool* flag = find<bool>(key);
  if (has(key) && (!flag || *flag != wanted)) fail(key, text("only ", wanted ? "true" : "false"));
}

bool HubConfig::flag_or(const std::string& key, bool otherwise) const {
  const bool* flag = find<bool>(key);
  if (has(key) && !flag) fail(key, "write true or false");
  return flag ? *flag : otherwise;
}

void HubConfig::require_id(const std::string& key, int64_t wanted) const {
  const int64_t* id = find<int64_t>(key);
  if (has(key) && (!id || *id != wanted)) fail(key, text("only ", wanted));
}

void HubConfig::require_none(const std::string& key, const std::string& fault_and_advice) const {
  if (opens(key) || has(key)) refuse(Exit::kInput, name_, ": ", key, ": ", fault_and_advice);
}

void HubConfig::fail(const std::string& key, const std::string& advice) const {
  const std::string found = has(key) ? " is " + shown_json(values_.at(key)) : ": is missing";
  refuse(Exit::kInput, name_, ": ", key, found, ": ", advice, " as in a ", class_,
         "; a model with another value computes what is not built here, so take another model");
}

void HubConfig::require_all_asked(
    const std::function<bool(std::string_view key)>& is_harmless) const {
  for (const auto& [key, value] : values_) {
    const auto list = lists_.find(key);
    const bool* flag = std::get_if<bool>(&value);
    const bool is_nothing = std::holds_alternative<std::nullptr_t>(value) || (flag && !*flag);
    if (asked_.contains(key) || is_harmless(key.substr(0, key.find('.')))) continue;
    if (is_nothing && (list == lists_.end() || list->second.size() == 1)) continue;
    refuse(Exit::kInput, name_, ": ", shown(key), " is ", shown_json(value), ": nothing in a ",
           class_, " here goes by this key; remove it if it changes no number of the model, or ",
           "take a model without it");
  }
}

bool HubConfig::has(const std::string& key) const {
  asked_.insert(key);
  const auto found = values_.find(key);
  return found != values_.end() && !std::holds_alternative<std::nullptr_t>(found->second);
}

template <class T>
const T* HubConfig::find(const std::string& key) const {
  asked_.insert(key);
  const auto list = lists_.find(key);
  if (list != lists_.end() && list->second.size() > 1) return nullptr;
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace zero::model
