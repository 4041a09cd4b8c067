#include "src/config/import/source.hpp"

#include <algorithm>

namespace zero {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digit(char c) { return kDigits.find(c) != kDigits.npos; }

}  // namespace

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
