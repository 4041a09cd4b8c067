#include "io/text/json_words.hpp"

#include "io/text/nfc.hpp"

namespace zero {

std::string with_marks(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == ' ') {
      out += kBlankMark;
    } else {
      out += c;
    }
  }
  return out;
}

std::string normalize(std::string_view text, const std::vector<TokenizerRules::Normal>& steps) {
  std::string out(text);
  using Normal = TokenizerRules::Normal;
  for (const Normal step : steps) {
    const bool is_ascii = std::ranges::all_of(out, [](char c) { return uint8_t(c) < 0x80; });
    if (step == Normal::kNfc && !is_ascii) out = to_nfc(out);
    if (step == Normal::kPrependMark && !out.empty()) out.insert(0, kBlankMark);
    if (step == Normal::kMarkBlanks) out = with_marks(out);
  }
  return out;
}

}  // namespace zero
