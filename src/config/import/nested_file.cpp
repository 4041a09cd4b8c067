#include "src/config/import/nested_file.hpp"

#include <algorithm>

namespace zero {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digit(char c) { return kDigits.find(c) != kDigits.npos; }

}  // namespace

const std::string& said(const SourceEntry& entry) {
  return entry.called.empty() ? entry.key : entry.called;
}

SourceEntry* find_entry(Source& source, std::string_view key) {
  const auto found = std::ranges::find(source, key, &SourceEntry::key);
  return found == source.end() ? nullptr : &*found;
}

const SourceEntry* find_entry(const Source& source, std::string_view key) {
  const auto found = std::ranges::find(source, key, &SourceEntry::key);
  return found == source.end() ? nullptr : &*found;
}

const TomlValue* value_in(const Source& source, std::string_view key) {
  const SourceEntry* entry = find_entry(source, key);
  return entry && entry->value ? &*entry->value : nullptr;
}

std::optional<double> number_of(const TomlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return double(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::optional<TomlValue> python_number(std::string_view word) {
  if (word.empty() || word.find_first_not_of("0123456789+-._eE") != word.npos) return std::nullopt;
  const size_t sign = word[0] == '+' || word[0] == '-';
  const size_t exponent = std::min(word.find_first_of("eE"), word.size());
  std::string_view mantissa = word.substr(sign, exponent - sign);
  if (mantissa.find_first_of(kDigits) == mantissa.npos) return std::nullopt;
  while (mantissa.size() > 1 && mantissa[0] == '0' && is_digit(mantissa[1])) {
    mantissa.remove_prefix(1);
  }
  std::string plain(word.substr(0, sign));
  if (mantissa.front() == '.') plain += '0';
  plain += mantissa;
  if (mantissa.back() == '.') plain += '0';
  plain += word.substr(exponent);
  TomlValue number;
  std::string ignored;
  if (!parse_toml_value(plain, number, ignored)) return std::nullopt;
  return number;
}

}  // namespace zero
