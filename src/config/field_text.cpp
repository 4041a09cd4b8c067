#include "src/config/field_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "src/config/fields.hpp"
#include "src/config/toml_cursor.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/recompute_words.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

bool as_count(std::string_view digits, int64_t& out) {
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, out);
  return error == std::errc() && end == last && digits[0] != '-';
}

/// Parses a number with one of `units`. Each unit is `step` times the previous one.
bool as_size(std::string_view word, std::span<const std::string_view> units, double step,
             int64_t& out) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || !(number > 0)) return false;
  std::string_view unit = word.substr(size_t(end - word.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto found = std::find(units.begin(), units.end(), unit);
  if (found == units.end()) return false;
  const double bytes = number * std::pow(step, double(found - units.begin()));
  if (bytes < 1 || bytes > double(kMostBytes)) return false;
  out = int64_t(bytes);
  return true;
}

std::string blocks(int64_t count) { return count > 0 ? counted(count, "block") : "the blocks"; }

/// Returns a number as 0, not 0.0, and 500000000, not 5e+08.
std::string plain(double number) {
  const bool whole = number == std::floor(number) && std::fabs(number) < 1e15;
  return to_text(whole ? TomlValue(int64_t(number)) : TomlValue(number));
}

struct ValueOf {
  TomlValue operator()(const bool* value) const { return *value; }
  TomlValue operator()(const Integer& binding) const {
    if (binding.range.maximum && *binding.value == kMicroBatchMax) return "max";
    if (binding.range.maximum && *binding.value == kMicroBatchBest) return "best";
    return binding.range.automatic && *binding.value == 0 ? TomlValue("auto")
                                                          : TomlValue(*binding.value);
  }
  TomlValue operator()(const Real& binding) const {
    return binding.range.automatic && *binding.value == 0 ? TomlValue("auto")
                                                          : TomlValue(*binding.value);
  }
  TomlValue operator()(const Size& binding) const {
    return *binding.value == 0 ? TomlValue("auto") : TomlValue(*binding.value);
  }
  TomlValue operator()(const Duration& binding) const { return *binding.value; }
  TomlValue operator()(const GroupSize& binding) const {
    if (*binding.value > 0) return *binding.value;
    return *binding.value == 0 ? "all" : "node";
  }
  TomlValue operator()(const std::string* value) const { return *value; }
  TomlValue operator()(const std::vector<std::string>* value) const {
    return TomlArray(value->begin(), value->end());
  }
  TomlValue operator()(const std::array<double, 2>* value) const {
    return TomlArray{(*value)[0], (*value)[1]};
  }
  TomlValue operator()(const Recompute* value) const {
    if (value->mode != Recompute::Mode::layers) return kRecomputeWords[int(value->mode)];
    return TomlArray(value->layers.begin(), value->layers.end());
  }
  TomlValue operator()(const OneOf& binding) const {
    return std::string(binding.names[size_t(binding.get())]);
  }
  TomlValue operator()(const Fixed& binding) const { return binding.accepted[0]; }
  TomlValue operator()(const Hint& binding) const { return binding.fallback; }
  TomlValue operator()(const Open& binding) const {
    return std::visit([](const auto* value) { return *value ? said(**value) : TomlValue("auto"); },
                      binding.value);
  }
  template <class T>
  static TomlValue said(const T& value) {
    return value;
  }
  static TomlValue said(BeamEnd value) {
    return value == BeamEnd::never ? TomlValue("never") : TomlValue(value == BeamEnd::yes);
  }
  static TomlValue said(const std::vector<int64_t>& ids) {
    return TomlArray(ids.begin(), ids.end());
  }
  TomlValue operator()(const DataPaths& binding) const {
    if (binding.parts->empty()) return *binding.path;
    return list_of(*binding.parts);
  }
};

struct LegalValues {
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const Integer& binding) const { return to_text(binding.range); }
  std::string operator()(const Real& binding) const { return to_text(binding.range); }
  std::string operator()(const Size&) const { return std::string(kSizes); }
  std::string operator()(const Duration&) const { return std::string(kTimes); }
  std::string operator()(const GroupSize&) const { return std::string(kGroupSizes); }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const std::vector<std::string>*) const { return std::string(kWords); }
  std::string operator()(const std::array<double, 2>*) const { return "two of 0 to below 1"; }
  std::string operator()(const Recompute*) const { return std::string(kRecomputes); }
  std::string operator()(const OneOf& binding) const { return to_text(binding); }
  std::string operator()(const Fixed& binding) const {
    std::string out;
    for (const TomlValue& value : binding.accepted)
      out += (out.empty() ? "" : " or ") + to_text(value);
    return out;
  }
  std::string operator()(const Hint& binding) const {
    const bool flag = std::holds_alternative<bool>(binding.fallback);
    return flag ? "true or false" : to_text(binding.range);
  }
  std::string operator()(const Open& binding) const {
    const std::string words[] = {"true, false or \"auto\"", to_text(binding.range),
                                 to_text(binding.range), std::string(kBeamEnds),
                                 std::string(kIdLists)};
    return words[binding.value.index()];
  }
  std::string operator()(const DataPaths&) const { return std::string(kDataPaths); }
};

}  // namespace

TomlValue list_of(const std::vector<DataPart>& parts) {
  TomlArray plain;
  TomlTables tables;
  for (const DataPart& part : parts) {
    if (part.weight == 0) plain.emplace_back(part.path);
    const bool is_weighted = part.weight > 0;
    TomlTable table{.entries = {{is_weighted ? "path" : "", part.path}}};
    if (is_weighted) table.entries.emplace_back("weight", part.weight);
    tables.push_back(std::move(table));
  }
  if (plain.size() == parts.size()) return plain;
  return tables;
}

bool as_bytes(std::string_view word, int64_t& out) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return as_size(word, kUnits, 1024, out);
}

bool as_decimal_bytes(std::string_view word, int64_t& out) {
  constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  return as_size(word, kUnits, 1000, out);
}

bool as_clock(std::string_view word, int64_t& out) {
  constexpr size_t kTail = 6;  // Bytes of ":MM:SS".
  if (word.size() <= kTail || word.size() > kTail + 4) return false;
  const std::string_view tail = word.substr(word.size() - kTail);
  int64_t hours = 0, minutes = 0, seconds = 0;
  const bool read = tail[0] == ':' && tail[3] == ':' &&
                    as_count(word.substr(0, word.size() - kTail), hours) &&
                    as_count(tail.substr(1, 2), minutes) && as_count(tail.substr(4), seconds);
  if (!read || minutes > 59 || seconds > 59) return false;
  out = (hours * 60 + minutes) * 60 + seconds;
  return true;
}

bool is_line_of_text(std::string_view word) {
  Utf8Checker utf8;
  const auto fits = [&utf8](char c) { return !is_control(c) && utf8.accept(uint8_t(c)); };
  return std::all_of(word.begin(), word.end(), fits) && utf8.complete();
}

TomlValue value_of(const Field& field) { return std::visit(ValueOf(), field.binding); }

std::string legal_values(const Field& field) { return std::visit(LegalValues(), field.binding); }

std::string to_text(const Range& range) {
  std::string out = text(range.above_low ? "above " : "", plain(range.low));
  out += range.high >= 9e15 ? std::string(" or more")
                            : text(" to ", range.below_high ? "below " : "", plain(range.high));
  return out + (range.automatic ? " or \"auto\"" : "") +
         (range.maximum ? " or \"max\" or \"best\"" : "");
}

std::string to_text(const OneOf& choice) {
  std::string out;
  for (const std::string_view name : choice.names)
    out += (out.empty() ? "\"" : ", \"") + std::string(name) + '"';
  return out;
}

std::string_view section_of(std::string_view key) {
  const size_t dot = key.rfind('.');
  return dot == key.npos ? std::string_view() : key.substr(0, dot);
}

std::string by_section(
    std::span<const Field> fields,
    const std::function<std::string(const Field& field, std::string_view name)>& line) {
  std::string out;
  std::string_view section;
  for (const Field& field : fields) {
    const std::string_view here = section_of(field.key);
    const std::string words =
        line(field, std::string_view(field.key).substr(here.empty() ? 0 : here.size() + 1));
    if (words.empty()) continue;
    if (here != section) out += text("\n[", here, "]\n");
    section = here;
    out += words;
  }
  return out;
}

std::string comment(std::string words) {
  if (!is_line_of_text(words)) {
    const auto unfit = [](char c) { return c < ' ' || c > '~'; };
    std::replace_if(words.begin(), words.end(), unfit, '?');
  }
  return "  # " + words + "\n";
}

std::string kept_activations(const RunConfig& config) {
  const Recompute& recompute = config.recompute;
  const int64_t layers = block_count(config), named = int64_t(recompute.layers.size());
  switch (recompute.mode) {
    case Recompute::Mode::none:
      return text("recompute = \"none\" keeps every activation of ", blocks(layers));
    case Recompute::Mode::selective:
      return text("recompute = \"selective\" keeps those of ", blocks(layers),
                  " but what is cheap to compute again");
    case Recompute::Mode::full:
      return text("recompute = \"full\" keeps the inputs of ", blocks(layers));
    case Recompute::Mode::automatic:
      return "recompute = \"auto\" keeps what the fastest plan that fits does";
    case Recompute::Mode::layers:
      break;
  }
  const std::string others = layers > named ? blocks(layers - named) : "the other blocks";
  return text("recompute keeps the inputs of ", blocks(named), " and every activation of ", others);
}

}  // namespace zero
