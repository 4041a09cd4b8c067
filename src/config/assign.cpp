#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/config/fields.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

/// 0 and not 0.0, 500000000 and not 5e+08.
std::string plain(double number) {
  const bool whole = number == std::floor(number) && std::fabs(number) < 1e15;
  return to_text(whole ? TomlValue(int64_t(number)) : TomlValue(number));
}

std::string wrong_type(const TomlValue& value, std::string_view wanted) {
  std::string what = text(to_text(value), " is ", type_name(value), "; write ", wanted);
  const auto* word = std::get_if<std::string>(&value);
  TomlValue inside;
  std::string ignored;
  if (word && parse_toml_value(*word, inside, ignored)) what += ", without quotes";
  return what;
}

bool is_auto(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == "auto";
}

std::string describe(const Range& range) {
  std::string out = text(range.above_low ? "above " : "", plain(range.low));
  out += range.high >= 9e15 ? std::string(" or more")
                            : text(" to ", range.below_high ? "below " : "", plain(range.high));
  return out + (range.automatic ? " or \"auto\"" : "");
}

std::string check_range(const Range& range, const TomlValue& value, double number) {
  const bool low = range.above_low ? number > range.low : number >= range.low;
  const bool high = range.below_high ? number < range.high : number <= range.high;
  if (low && high) return "";
  return text(to_text(value), " is out of range; write ", describe(range), range.hint);
}

bool as_integer(const TomlValue& value, int64_t& out) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return out = *integer, true;
  const auto* real = std::get_if<double>(&value);
  if (!real || *real != std::floor(*real) || std::fabs(*real) > 9e15) return false;
  return out = int64_t(*real), true;
}

bool as_real(const TomlValue& value, double& out) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return out = double(*integer), true;
  const auto* real = std::get_if<double>(&value);
  if (!real) return false;
  return out = *real, true;
}

/// "24GiB", "1.5TiB", "4096B"; false if it is no size.
bool as_bytes(std::string_view word, int64_t& out) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || !(number > 0)) return false;
  std::string_view unit = word.substr(size_t(end - word.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto* found = std::find(std::begin(kUnits), std::end(kUnits), unit);
  if (found == std::end(kUnits)) return false;
  const double bytes = std::ldexp(number, int(10 * (found - kUnits)));
  if (bytes < 1 || bytes > 9e15) return false;
  out = int64_t(bytes);
  return true;
}

std::string join(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names)
    out += (out.empty() ? "\"" : ", \"") + std::string(name) + '"';
  return out;
}

bool same_value(const TomlValue& a, const TomlValue& b) {
  double x = 0, y = 0;
  return a == b || (as_real(a, x) && as_real(b, y) && x == y);
}

struct Assign {
  const TomlValue& value;

  std::string operator()(bool* out) const {
    const auto* flag = std::get_if<bool>(&value);
    if (!flag) return wrong_type(value, "true or false");
    return *out = *flag, "";
  }
  std::string operator()(const Integer& slot) const {
    if (slot.range.automatic && is_auto(value)) return *slot.value = 0, "";
    int64_t number = 0;
    if (!as_integer(value, number)) {
      return wrong_type(value, slot.range.automatic ? "an integer or \"auto\"" : "an integer") +
             std::string(slot.range.hint);
    }
    const std::string wrong = check_range(slot.range, value, double(number));
    if (wrong.empty()) *slot.value = number;
    return wrong;
  }
  std::string operator()(const Real& slot) const {
    if (slot.range.automatic && is_auto(value)) return *slot.value = 0, "";
    double number = 0;
    if (!as_real(value, number)) {
      return wrong_type(value, slot.range.automatic ? "a number or \"auto\"" : "a number");
    }
    const std::string wrong = check_range(slot.range, value, number);
    if (wrong.empty()) *slot.value = number;
    return wrong;
  }
  std::string operator()(const Size& slot) const {
    constexpr std::string_view kWanted =
        "bytes, or text such as \"24GiB\" or \"512MiB\", or \"auto\"";
    if (is_auto(value)) return *slot.value = 0, "";
    int64_t bytes = 0;
    const auto* word = std::get_if<std::string>(&value);
    const bool read = word ? as_bytes(*word, bytes) : as_integer(value, bytes);
    if (!read) return text(to_text(value), " is no size; write ", kWanted);
    if (bytes < 0) return text(to_text(value), " is out of range; write ", kWanted);
    return *slot.value = bytes, "";
  }
  std::string operator()(std::string* out) const {
    const auto* word = std::get_if<std::string>(&value);
    if (!word) return wrong_type(value, "a string in \"quotes\"");
    if (word->size() > 1000) return "a string of more than 1000 bytes";
    if (word->find('\0') != word->npos) return "a string with a zero byte";
    return *out = *word, "";
  }
  std::string operator()(std::array<double, 2>* out) const {
    const auto* items = std::get_if<TomlArray>(&value);
    std::array<double, 2> betas{};
    if (!items || items->size() != 2)
      return text(to_text(value), " is no pair; write [0.9, 0.999]");
    for (size_t i = 0; i < 2; ++i) {
      const TomlValue item = std::visit([](const auto& x) { return TomlValue(x); }, (*items)[i]);
      if (!as_real(item, betas[i])) return wrong_type(item, "two numbers, [0.9, 0.999]");
      if (!(betas[i] >= 0 && betas[i] < 1)) {
        return text(to_text(value), " is out of range; write 0 to below 1 for each");
      }
    }
    return *out = betas, "";
  }
  std::string operator()(Recompute* out) const;
  std::string operator()(const Choice& slot) const {
    const auto* word = std::get_if<std::string>(&value);
    const auto found =
        word ? std::find(slot.names.begin(), slot.names.end(), *word) : slot.names.end();
    if (found == slot.names.end()) {
      return text(to_text(value), " is not one of ", join(slot.names), slot.hint);
    }
    return slot.set(int(found - slot.names.begin())), "";
  }
  std::string operator()(const Fixed& slot) const {
    for (const TomlValue& accepted : slot.accepted) {
      if (same_value(value, accepted)) return "";
    }
    if (value.index() != slot.accepted[0].index())
      return wrong_type(value, to_text(slot.accepted[0]));
    return text(to_text(value), " is not done: ", slot.reason);
  }
};

std::string Assign::operator()(Recompute* out) const {
  constexpr std::string_view kWanted =
      "\"none\", \"selective\", \"full\" or a list of blocks, [0, 2, 5]";
  Recompute recompute;
  if (const auto* word = std::get_if<std::string>(&value)) {
    constexpr std::string_view kNames[] = {"none", "selective", "full"};
    const auto* found = std::find(std::begin(kNames), std::end(kNames), *word);
    if (found == std::end(kNames)) return text(to_text(value), " is not one of ", kWanted);
    recompute.mode = Recompute::Mode(found - kNames);
    return *out = recompute, "";
  }
  const auto* items = std::get_if<TomlArray>(&value);
  if (!items) return wrong_type(value, kWanted);
  recompute.mode = Recompute::Mode::layers;
  for (const TomlScalar& item : *items) {
    const auto* layer = std::get_if<int64_t>(&item);
    const int64_t last = recompute.layers.empty() ? -1 : recompute.layers.back();
    if (!layer || *layer <= last) {
      return text(to_text(value), ": write the numbers of blocks, from 0, ascending, each once");
    }
    recompute.layers.push_back(*layer);
  }
  return *out = recompute, "";
}

struct ValueOf {
  TomlValue operator()(const bool* value) const { return *value; }
  TomlValue operator()(const Integer& slot) const {
    return slot.range.automatic && *slot.value == 0 ? TomlValue("auto") : TomlValue(*slot.value);
  }
  TomlValue operator()(const Real& slot) const {
    return slot.range.automatic && *slot.value == 0 ? TomlValue("auto") : TomlValue(*slot.value);
  }
  TomlValue operator()(const Size& slot) const {
    return *slot.value == 0 ? TomlValue("auto") : TomlValue(*slot.value);
  }
  TomlValue operator()(const std::string* value) const { return *value; }
  TomlValue operator()(const std::array<double, 2>* value) const {
    return TomlArray{(*value)[0], (*value)[1]};
  }
  TomlValue operator()(const Recompute* value) const {
    constexpr const char* kNames[] = {"none", "selective", "full"};
    if (value->mode != Recompute::Mode::layers) return kNames[int(value->mode)];
    return TomlArray(value->layers.begin(), value->layers.end());
  }
  TomlValue operator()(const Choice& slot) const {
    return std::string(slot.names[size_t(slot.get())]);
  }
  TomlValue operator()(const Fixed& slot) const { return slot.accepted[0]; }
};

}  // namespace

std::string assign(const Field& field, const TomlValue& value) {
  return std::visit(Assign{value}, field.slot);
}

TomlValue value_of(const Field& field) { return std::visit(ValueOf(), field.slot); }

}  // namespace zero
