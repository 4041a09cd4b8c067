#include "src/config/key_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "zero/base/error.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

/// True if the value is a string that would be another value without its quotes.
bool is_quoted_value(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  TomlValue inside;
  std::string ignored;
  return word && parse_toml_value(*word, inside, ignored);
}

std::string wrong_type(const TomlValue& value, std::string_view wanted) {
  return text(to_text(value), " is ", type_name(value), "; write ", wanted,
              is_quoted_value(value) ? ", without quotes" : "");
}

bool is_word(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == wanted;
}
bool is_auto(const TomlValue& value) { return is_word(value, "auto"); }

std::string check_range(const Range& range, const TomlValue& value, double number) {
  const bool low = range.above_low ? number > range.low : number >= range.low;
  // Kernels take the number in fp32, where it must not reach the bound either.
  const bool high = range.below_high ? float(number) < range.high : number <= range.high;
  if (low && high) return "";
  return text(to_text(value), " is out of range; write ", to_text(range), range.hint);
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

std::string wanted_integer(const Range& range) {
  if (range.maximum) return "an integer, \"auto\", \"max\" or \"best\"";
  return range.automatic ? "an integer or \"auto\"" : "an integer";
}

struct Assign {
  const TomlValue& value;

  std::string operator()(bool* out) const {
    const auto* flag = std::get_if<bool>(&value);
    if (!flag) return wrong_type(value, "true or false");
    return *out = *flag, "";
  }
  std::string operator()(const Integer& binding) const {
    if (binding.range.automatic && is_auto(value)) return *binding.value = 0, "";
    if (binding.range.maximum && is_word(value, "max")) return *binding.value = kMicroBatchMax, "";
    if (binding.range.maximum && is_word(value, "best"))
      return *binding.value = kMicroBatchBest, "";
    int64_t number = 0;
    if (!as_integer(value, number)) {
      return wrong_type(value, wanted_integer(binding.range)) + std::string(binding.range.hint);
    }
    const std::string wrong = check_range(binding.range, value, double(number));
    if (wrong.empty()) *binding.value = number;
    return wrong;
  }
  std::string operator()(const Real& binding) const {
    if (binding.range.automatic && is_auto(value)) return *binding.value = 0, "";
    double number = 0;
    if (!as_real(value, number)) {
      return wrong_type(value, binding.range.automatic ? "a number or \"auto\"" : "a number");
    }
    const std::string wrong = check_range(binding.range, value, number);
    if (wrong.empty()) *binding.value = number;
    return wrong;
  }
  std::string operator()(const Size& binding) const {
    if (is_auto(value)) return *binding.value = 0, "";
    int64_t bytes = 0;
    const auto* word = std::get_if<std::string>(&value);
    const bool read = word ? as_bytes(*word, bytes) : as_integer(value, bytes);
    if (read && bytes >= 0 && bytes <= kMostBytes) return *binding.value = bytes, "";
    return text(to_text(value), read ? " is out of range" : " is no size", "; write ", kSizes);
  }
  std::string operator()(const Duration& binding) const {
    int64_t seconds = 0;
    const auto* word = std::get_if<std::string>(&value);
    const bool read = word ? as_clock(*word, seconds) : as_integer(value, seconds);
    if (read && seconds >= 0 && seconds <= kMostSeconds) return *binding.value = seconds, "";
    return text(to_text(value), read ? " is out of range" : " is no time", "; write ", kTimes);
  }
  std::string operator()(const GroupSize& binding) const {
    if (is_word(value, "all")) return *binding.value = 0, "";
    if (is_word(value, "node")) return *binding.value = kGroupOfNode, "";
    int64_t ranks = 0;
    if (!as_integer(value, ranks)) return wrong_type(value, std::string(kGroupSizes));
    if (ranks >= 2 && ranks <= kMostGroupRanks) return *binding.value = ranks, "";
    if (ranks == 1) return "each rank would hold all weights; write zero.stage = 1, or \"all\"";
    return text(to_text(value), " is out of range; write ", kGroupSizes);
  }
  std::string operator()(std::string* out) const {
    const auto* word = std::get_if<std::string>(&value);
    if (!word) return wrong_type(value, "a string in \"quotes\"");
    if (word->size() > 1000) return "a string of more than 1000 bytes";
    if (!is_line_of_text(*word)) return "a string with a control character or no UTF-8";
    return *out = *word, "";
  }
  /// Stores each item as a single string; empty strings are errors.
  std::string operator()(std::vector<std::string>* out) const {
    const auto* items = std::get_if<TomlArray>(&value);
    if (!items) return wrong_type(value, kWords);
    std::vector<std::string> words;
    for (const TomlScalar& item : *items) {
      const TomlValue one = std::visit([](const auto& x) { return TomlValue(x); }, item);
      const std::string wrong = Assign{one}(&words.emplace_back());
      if (!wrong.empty()) return wrong;
      if (words.back().empty()) return text(to_text(value), " has an empty one; write ", kWords);
    }
    return *out = words, "";
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
  std::string operator()(const Open& binding) const {
    return std::visit(
        [&](auto* out) {
          if (is_auto(value)) return out->reset(), std::string();
          return fill(*out, binding.range);
        },
        binding.value);
  }
  std::string fill(std::optional<bool>& out, const Range&) const {
    bool flag = false;
    if (!std::holds_alternative<bool>(value)) return wrong_type(value, "true, false or \"auto\"");
    (*this)(&flag);
    return out = flag, "";
  }
  std::string fill(std::optional<int64_t>& out, const Range& range) const {
    int64_t number = 0;
    const std::string wrong = (*this)(Integer{&number, range});
    if (wrong.empty()) out = number;
    return wrong;
  }
  std::string fill(std::optional<double>& out, const Range& range) const {
    double number = 0;
    const std::string wrong = (*this)(Real{&number, range});
    if (wrong.empty()) out = number;
    return wrong;
  }
  std::string fill(std::optional<BeamEnd>& out, const Range&) const {
    const bool* flag = std::get_if<bool>(&value);
    if (!flag && !is_word(value, "never")) return wrong_type(value, kBeamEnds);
    return out = !flag ? BeamEnd::never : *flag ? BeamEnd::yes : BeamEnd::no, "";
  }
  std::string fill(std::optional<std::vector<int64_t>>& out, const Range& range) const;
  std::string operator()(const OneOf& binding) const {
    const auto* word = std::get_if<std::string>(&value);
    const auto found =
        word ? std::find(binding.names.begin(), binding.names.end(), *word) : binding.names.end();
    if (found == binding.names.end()) {
      return text(to_text(value), " is not one of ", to_text(binding), binding.hint);
    }
    return binding.set(int(found - binding.names.begin())), "";
  }
  std::string operator()(const DataPaths& binding) const;
  std::string operator()(const Fixed& binding) const {
    for (const TomlValue& accepted : binding.accepted) {
      if (same_value(value, accepted)) return "";
    }
    if (could_be_of(binding, value)) return text(to_text(value), " is not done: ", binding.reason);
    return text(to_text(value), " is ", type_name(value),
                is_quoted_value(value) ? " (remove the quotes)" : "", ": ", binding.reason);
  }
  /// Checks that the value is one of the key's type. No member stores it.
  std::string operator()(const Hint& binding) const {
    bool flag = false;
    int64_t integer = 0;
    double real = 0;
    if (std::holds_alternative<bool>(binding.fallback)) return (*this)(&flag);
    if (std::holds_alternative<double>(binding.fallback))
      return (*this)(Real{&real, binding.range});
    return (*this)(Integer{&integer, binding.range});
  }
};

/// Fills a part of a list, as a path or as {path, weight}. Returns "" or the error text.
std::string fill_part(DataPart& part, const TomlTable& table) {
  for (const auto& [key, scalar] : table.entries) {
    const TomlValue value = std::visit([](const auto& x) { return TomlValue(x); }, scalar);
    std::string wrong;
    if (key == "weight") {
      wrong = Assign{value}(Real{&part.weight, {.high = 1e9, .above_low = true}});
    } else if (key == "path" || key.empty()) {
      wrong = Assign{value}(&part.path);
    } else {
      wrong = text(key, " is no key of a part; write ", kDataPaths);
    }
    if (!wrong.empty()) return key.empty() ? wrong : text(key, ": ", wrong);
  }
  if (!part.path.empty()) return "";
  return text("a part has no path; write ", kDataPaths);
}

/// Returns the error text for parts that contradict each other, or "".
std::string fault_of_parts(const std::vector<DataPart>& parts) {
  if (parts.empty()) return text("an empty list; write ", kDataPaths);
  size_t weighted = 0;
  std::set<std::string_view> paths;
  for (const DataPart& part : parts) {
    weighted += part.weight > 0;
    if (!paths.insert(part.path).second)
      return text('"', part.path, "\" stands twice; write it once, with the sum of the weights");
  }
  if (weighted == 0 || weighted == parts.size()) return "";
  return text(weighted, " of ", parts.size(), " parts have a weight; write one for each, or none");
}

std::string Assign::operator()(const DataPaths& binding) const {
  if (std::holds_alternative<std::string>(value)) {
    const std::string wrong = (*this)(binding.path);
    if (wrong.empty()) binding.parts->clear();
    return wrong;
  }
  TomlTables tables;
  if (const auto* items = std::get_if<TomlArray>(&value)) {
    for (const TomlScalar& item : *items) tables.push_back({.entries = {{"", item}}});
  } else if (const auto* parts = std::get_if<TomlTables>(&value)) {
    tables = *parts;
  } else {
    return wrong_type(value, kDataPaths);
  }
  std::vector<DataPart> parts;
  for (const TomlTable& table : tables) {
    const std::string wrong = fill_part(parts.emplace_back(), table);
    if (!wrong.empty()) return wrong;
  }
  const std::string wrong = fault_of_parts(parts);
  if (!wrong.empty()) return wrong;
  *binding.path = to_text(list_of(parts));
  return *binding.parts = std::move(parts), "";
}

std::string Assign::fill(std::optional<std::vector<int64_t>>& out, const Range& range) const {
  const auto* items = std::get_if<TomlArray>(&value);
  std::vector<int64_t> ids;
  const auto add = [&](const TomlValue& item) {
    if (!as_integer(item, ids.emplace_back())) return wrong_type(value, kIdLists);
    return check_range({.low = range.low, .high = range.high}, item, double(ids.back()));
  };
  std::string wrong = items ? "" : add(value);
  for (size_t i = 0; items && i < items->size() && wrong.empty(); ++i) {
    wrong = add(std::visit([](const auto& item) { return TomlValue(item); }, (*items)[i]));
  }
  if (wrong.empty()) out = ids;
  return wrong;
}

std::string Assign::operator()(Recompute* out) const {
  Recompute recompute;
  if (const auto* word = std::get_if<std::string>(&value)) {
    if (*word == "auto") return *out = {.mode = Recompute::Mode::automatic, .layers = {}}, "";
    constexpr std::string_view kNames[] = {"none", "selective", "full"};
    const auto* found = std::find(std::begin(kNames), std::end(kNames), *word);
    if (found == std::end(kNames)) return text(to_text(value), " is not one of ", kRecomputes);
    recompute.mode = Recompute::Mode(found - kNames);
    return *out = recompute, "";
  }
  const auto* items = std::get_if<TomlArray>(&value);
  if (!items) return wrong_type(value, kRecomputes);
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

}  // namespace

bool same_value(const TomlValue& a, const TomlValue& b) {
  double x = 0, y = 0;
  return a == b || (as_real(a, x) && as_real(b, y) && x == y);
}

bool could_be_of(const Fixed& fixed, const TomlValue& value) {
  const TomlValue& known = fixed.accepted[0];
  double number = 0;
  const bool takes_number = is_auto(known) || as_real(known, number);
  return known.index() == value.index() || (takes_number && as_real(value, number));
}

std::string assign(const Field& field, const TomlValue& value) {
  return std::visit(Assign{value}, field.binding);
}

}  // namespace zero
