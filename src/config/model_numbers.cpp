#include "zero/config/model_numbers.hpp"

#include "zero/base/error.hpp"

namespace zero {
namespace {

template <class Number>
Number number(const std::map<std::string, Number, std::less<>>& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  ZERO_REQUIRE(found != numbers.end(), "the model has no number \"", name, "\"");
  return found->second;
}

}  // namespace

int64_t ModelNumbers::count(std::string_view name) const { return number(counts, name); }

double ModelNumbers::rate(std::string_view name) const { return number(rates, name); }

}  // namespace zero
