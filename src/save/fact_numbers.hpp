#pragma once
/// Numbers in the facts of a checkpoint: bit for bit, floats in hexadecimal.

#include <charconv>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "zero/base/text.hpp"

namespace zero::save {

template <class Number>
std::string number_text(Number number) {
  if constexpr (std::is_floating_point_v<Number>) return format("%a", double(number));
  return std::to_string(number);
}

template <class Number>
bool read_number(const std::string& word, Number& number) {
  if constexpr (std::is_floating_point_v<Number>) {
    char* end = nullptr;
    number = Number(std::strtod(word.c_str(), &end));
    return !word.empty() && *end == '\0';
  } else {
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, number);
    return error == std::errc() && end == last;
  }
}

}  // namespace zero::save
