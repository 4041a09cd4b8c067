#include "zero/text/character_stream.hpp"

namespace zero::writing {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string CharacterStream::add(std::string_view bytes) {
  std::string whole;
  for (const char byte : bytes) {
    if (!checker_.accept(uint8_t(byte))) {
      // The byte that breaks a character may begin the next one.
      if (!held_.empty()) whole += kReplacement;
      held_.clear();
      checker_ = {};
      if (!checker_.accept(uint8_t(byte))) {
        whole += kReplacement;
        checker_ = {};
        continue;
      }
    }
    held_ += byte;
    if (!checker_.complete()) continue;
    whole += held_;
    held_.clear();
  }
  return whole;
}

std::string CharacterStream::finish() {
  const bool cut = !held_.empty();
  held_.clear();
  checker_ = {};
  return cut ? kReplacement : "";
}

}  // namespace zero::writing
