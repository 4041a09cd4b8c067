#include "io/data/label_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

/// Returns the finite number that a whole text is, or none.
template <class T>
std::optional<T> number_in(const std::string& text) {
  T value{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || error != std::errc() || end != last) return std::nullopt;
  return std::isfinite(double(value)) ? std::optional(value) : std::nullopt;
}

std::string trimmed(const std::string& word) {
  constexpr const char* kBlanks = " \t\r\n";
  const size_t first = word.find_first_not_of(kBlanks);
  return first == word.npos ? "" : word.substr(first, word.find_last_not_of(kBlanks) + 1 - first);
}

/// Returns "12" for "12.0", as programs write whole numbers of columns with gaps; else "".
std::string whole_of(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == name.npos || dot + 1 == name.size()) return "";
  const bool is_whole = name.find_first_not_of('0', dot + 1) == name.npos;
  const std::string digits = name.substr(0, dot);
  return is_whole && number_in<int64_t>(digits) ? digits : "";
}

/// Returns the name of a class without blanks around it, "" for null.
std::string name_of(const JsonScalar& label, const std::string& place) {
  if (const auto* word = std::get_if<std::string>(&label)) return trimmed(*word);
  if (const auto* whole = std::get_if<int64_t>(&label)) return std::to_string(*whole);
  if (const auto* flag = std::get_if<bool>(&label)) return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&label)) {
    // A column with gaps is real in tables of other programs.
    if (std::trunc(*real) == *real && std::abs(*real) < 1e15) return std::to_string(int64_t(*real));
    refuse(Exit::kInput, place, ": the label ", *real, " is no class; write words or whole ",
           "numbers, or model.labels = 1 to learn real numbers");
  }
  return "";
}

bool is_missing(const std::string& name) { return name.empty() || name == "-" || name == "-1"; }

[[noreturn]] void refuse_missing(const std::string& name, const std::string& place) {
  refuse(Exit::kInput, place, ": the label \"", name, "\" says that there is none, as in files ",
         "whose labels are kept secret; leave the line out",
         name.empty() ? "" : ", or write data.labels with this name among the classes");
}

bool comes_before(const std::string& a, const std::string& b) {
  const auto first = number_in<double>(a), second = number_in<double>(b);
  if (first && second && *first != *second) return *first < *second;
  if (first.has_value() != second.has_value()) return first.has_value();
  return a < b;
}

double real_of(const JsonScalar& label, const std::string& place) {
  double value = std::nan("");
  if (const auto* word = std::get_if<std::string>(&label)) {
    const auto found = number_in<double>(*word);
    if (!found) {
      refuse(Exit::kInput, place, ": the label \"", shown(*word), "\" is no number; a model of ",
             "model.labels = 1 learns real numbers, so write the count of the classes there");
    }
    value = *found;
  } else if (const auto* whole = std::get_if<int64_t>(&label)) {
    value = double(*whole);
  } else if (const auto* real = std::get_if<double>(&label)) {
    value = *real;
  } else if (const auto* flag = std::get_if<bool>(&label)) {
    value = *flag ? 1 : 0;
  } else {
    refuse_missing("", place);
  }
  if (std::isfinite(float(value))) return value;
  refuse(Exit::kInput, place, ": the label ", value, " is not finite in fp32; leave the line out");
}

}  // namespace

LabelReader::LabelReader(std::vector<std::string> classes, ClassNames source)
    : classes_(std::move(classes)), source_(source) {
  ZERO_REQUIRE(!classes_.empty(), "no classes");
  for (const std::string& name : classes_) numbers_.emplace(name, double(numbers_.size()));
  takes_indices_ =
      source == ClassNames::written && std::ranges::none_of(classes_, [](const std::string& name) {
        return number_in<double>(name).has_value();
      });
}

double LabelReader::read(const JsonScalar& label, const std::string& place) const {
  if (is_real()) return real_of(label, place);
  // A class of data.labels may have blanks around it.
  if (const auto* word = std::get_if<std::string>(&label)) {
    if (const auto found = numbers_.find(*word); found != numbers_.end()) return found->second;
  }
  return class_of(name_of(label, place), place);
}

double LabelReader::class_of(const std::string& name, const std::string& place) const {
  const std::string whole = whole_of(name);
  for (const std::string& one : {name, whole, name + ".0"}) {
    const auto found = numbers_.find(one);
    if (found != numbers_.end()) return found->second;
  }
  if (is_missing(name)) refuse_missing(name, place);
  const auto index = number_in<int64_t>(whole.empty() ? name : whole);
  if (takes_indices_ && index && *index >= 0 && *index < int64_t(classes_.size()))
    return double(*index);
  constexpr std::pair<const char*, const char*> kWords[] = {
      {"data.labels", "add it there"},
      {"the classes of data.train", "write all classes as data.labels"},
      {"the model's classes", "write data.labels, the words of the file for these, in this order"}};
  const auto& [names, advice] = kWords[size_t(source_)];
  refuse(Exit::kInput, place, ": the label \"", shown(name), "\" is none of ", names, ", ",
         classes_text(classes_), "; ", advice, ", or leave the line out");
}

std::vector<std::string> classes_in(const LabelFile& file) {
  std::set<std::string> found;
  size_t bytes = 0;
  for (int64_t record = 0; record < file.records(); ++record) {
    const std::string place = file.place(record), name = name_of(file.read(record).label, place);
    if (is_missing(name)) refuse_missing(name, place);
    if (found.insert(name).second) bytes += name.size();
    if (bytes <= kMostClassBytes) continue;
    refuse(Exit::kInput, place, ": the names of ", found.size(), " classes have more than ",
           kMostClassBytes, " bytes; write data.label_field, the field of the label");
  }
  // "0" and "0.0" are one class.
  std::erase_if(found, [&](const std::string& name) { return found.contains(whole_of(name)); });
  std::vector<std::string> classes(found.begin(), found.end());
  std::ranges::sort(classes, comes_before);
  return classes;
}

bool is_fraction(const std::string& name) {
  const auto number = number_in<double>(name);
  return number && std::trunc(*number) != *number;
}

std::string class_text(const std::string& name) {
  const bool is_plain = !name.empty() && name == trimmed(name) && name.find(',') == name.npos;
  return is_plain ? shown(name) : "\"" + shown(name) + "\"";
}

std::string classes_text(const std::vector<std::string>& classes) {
  constexpr size_t kMostNamed = 8;
  std::string words;
  for (size_t i = 0; i < std::min(classes.size(), kMostNamed); ++i)
    words += (i > 0 ? ", " : "") + class_text(classes[i]);
  return words + (classes.size() > kMostNamed ? ", ..." : "");
}

}  // namespace zero
