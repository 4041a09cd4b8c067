#pragma once
/// Values for any key, from its row of the table alone.

#include <vector>

#include "src/config/fields.hpp"

namespace zero {

using Values = std::vector<TomlValue>;

struct LegalOf {
  Values operator()(const bool*) const { return {true, false}; }
  Values operator()(const Integer& binding) const {
    Values values = {int64_t(binding.range.low), int64_t(binding.range.high),
                     int64_t(binding.range.low) + 1, double(binding.range.high)};
    if (binding.range.automatic) values.push_back("auto");
    if (binding.range.maximum) values.push_back("max");
    return values;
  }
  Values operator()(const Real& binding) const {
    const double low = binding.range.low, span = std::min(binding.range.high - low, 1.0);
    Values values = {low + 0.5 * span, low + 0.25 * span};
    if (!binding.range.above_low) values.push_back(binding.range.low);
    if (!binding.range.below_high) values.push_back(binding.range.high);
    if (binding.range.automatic) values.push_back("auto");
    return values;
  }
  Values operator()(const Size&) const { return {"auto", "1.5GiB", int64_t(4096)}; }
  Values operator()(const Duration&) const { return {int64_t(0), int64_t(90), "01:02:03"}; }
  Values operator()(const GroupSize&) const { return {"all", "node", int64_t(2), int64_t(8192)}; }
  Values operator()(const std::string*) const { return {"", "word", "a \"quoted\" \\ word ä"}; }
  Values operator()(const std::vector<std::string>*) const {
    return {TomlArray{}, TomlArray{"word", "a \"quoted\" \\ word ä"}};
  }
  Values operator()(const std::array<double, 2>*) const {
    return {TomlArray{0.5, 0.75}, TomlArray{int64_t(0), 0.5}};
  }
  Values operator()(const Recompute*) const {
    return {"none", "selective", "full", TomlArray{int64_t(0), int64_t(1)}};
  }
  Values operator()(const OneOf& binding) const {
    Values values;
    for (const std::string_view name : binding.names) values.push_back(std::string(name));
    return values;
  }
  Values operator()(const Open& binding) const {
    int64_t integer = 0;
    double real = 0;
    Values values[] = {{true, false},
                       (*this)(Integer{&integer, binding.range}),
                       (*this)(Real{&real, binding.range}),
                       {true, false, "never"},
                       {int64_t(3), TomlArray{int64_t(3), int64_t(5)}, TomlArray{}}};
    values[binding.value.index()].push_back("auto");
    return values[binding.value.index()];
  }
  Values operator()(const DataPaths&) const {
    return {
        "", "word", TomlArray{"word", "a \"quoted\" \\ word ä"},
        TomlTables{{{{"path", "a"}, {"weight", 0.5}}}, {{{"path", "b"}, {"weight", int64_t(2)}}}}};
  }
  Values operator()(const Fixed& binding) const { return binding.accepted; }
  Values operator()(const Hint& binding) const {
    int64_t integer = 0;
    double real = 0;
    if (std::holds_alternative<bool>(binding.fallback)) return {true, false};
    if (std::holds_alternative<double>(binding.fallback))
      return (*this)(Real{&real, binding.range});
    return (*this)(Integer{&integer, binding.range});
  }
};

struct MistypedOf {
  Values operator()(const bool*) const { return {int64_t(1), "true"}; }
  Values operator()(const Integer&) const { return {true, "word", 0.5, TomlArray{int64_t(1)}}; }
  Values operator()(const Real&) const { return {true, "0.5", TomlArray{0.5}}; }
  Values operator()(const Size&) const { return {true, "24GB", "lots", 0.5}; }
  Values operator()(const Duration&) const { return {true, "90", "1:2:3", 0.5}; }
  Values operator()(const GroupSize&) const { return {true, "some", 0.5}; }
  Values operator()(const std::string*) const { return {true, int64_t(3), TomlArray{}}; }
  Values operator()(const std::vector<std::string>*) const {
    return {true, "word", TomlArray{"word", int64_t(3)}};
  }
  Values operator()(const std::array<double, 2>*) const {
    return {0.9, "0.9", TomlArray{0.9}, TomlArray{true, 0.9}};
  }
  Values operator()(const Recompute*) const { return {true, int64_t(3), "some"}; }
  Values operator()(const OneOf&) const { return {true, int64_t(0), "no such word"}; }
  Values operator()(const Open& binding) const {
    const bool is_list = binding.value.index() == 4;
    return {"word", is_list ? TomlArray{"word"} : TomlArray{int64_t(1)}};
  }
  Values operator()(const DataPaths&) const {
    return {true, int64_t(3), TomlArray{int64_t(3)}, TomlTables{{{{"path", int64_t(3)}}}}};
  }
  Values operator()(const Fixed& binding) const {
    if (std::holds_alternative<bool>(binding.accepted[0])) return {int64_t(1), "word"};
    return {true, TomlArray{true}};
  }
  Values operator()(const Hint& binding) const {
    if (std::holds_alternative<bool>(binding.fallback)) return {int64_t(1), "word"};
    return {true, "word", TomlArray{true}};
  }
};

struct OutOfRangeOf {
  Values operator()(const Integer& binding) const {
    Values values = {int64_t(binding.range.low) - 1};
    if (binding.range.high < 9e15) values.push_back(int64_t(binding.range.high) + 1);
    return values;
  }
  Values operator()(const Real& binding) const {
    return {binding.range.above_low ? binding.range.low : binding.range.low - 0.5,
            binding.range.below_high ? binding.range.high : binding.range.high * 1.5};
  }
  Values operator()(const Size&) const { return {int64_t(-1), "9000PiB"}; }
  Values operator()(const Duration&) const { return {int64_t(-1), int64_t(1e12), "00:61:00"}; }
  Values operator()(const GroupSize&) const { return {int64_t(0), int64_t(1), int64_t(8193)}; }
  Values operator()(const std::vector<std::string>*) const { return {TomlArray{"word", ""}}; }
  Values operator()(const std::array<double, 2>*) const {
    return {TomlArray{0.9, 1.0}, TomlArray{-0.1, 0.9}};
  }
  Values operator()(const Recompute*) const { return {TomlArray{int64_t(2), int64_t(1)}}; }
  Values operator()(const Open& binding) const {
    int64_t integer = 0;
    double real = 0;
    const size_t kind = binding.value.index();
    if (kind == 1) return (*this)(Integer{&integer, binding.range});
    if (kind == 2) return (*this)(Real{&real, binding.range});
    if (kind == 4) return {int64_t(-1), TomlArray{int64_t(1), int64_t(1) << 25}};
    return {};
  }
  Values operator()(const DataPaths&) const {
    return {TomlArray{}, TomlArray{"a", "a"}, TomlTables{{{{"path", "a"}, {"weight", 0.0}}}},
            TomlTables{{{{"", "a"}}}, {{{"path", "b"}, {"weight", 1.0}}}}};
  }
  Values operator()(const Fixed& binding) const {
    if (binding.accepted.size() > 1 && std::holds_alternative<bool>(binding.accepted[0])) return {};
    const TomlValue& done = binding.accepted[0];
    if (const auto* flag = std::get_if<bool>(&done)) return {!*flag};
    if (const auto* number = std::get_if<int64_t>(&done)) {
      return {*number + 1, double(*number + 1), double(*number) + 0.5, 1e14};
    }
    if (const auto* number = std::get_if<double>(&done)) return {*number * 0.5, int64_t(2), 1e14};
    return {std::get<std::string>(done) + "x", int64_t(4), 4.0, 1e14};
  }
  Values operator()(const Hint& binding) const {
    int64_t integer = 0;
    double real = 0;
    if (std::holds_alternative<bool>(binding.fallback)) return {};
    if (std::holds_alternative<double>(binding.fallback))
      return (*this)(Real{&real, binding.range});
    return (*this)(Integer{&integer, binding.range});
  }
  Values operator()(const auto&) const { return {}; }  // every value of the type is legal
};

inline Values legal_of(const Field& field) { return std::visit(LegalOf(), field.binding); }
inline Values mistyped_of(const Field& field) { return std::visit(MistypedOf(), field.binding); }
inline Values out_of_range_of(const Field& field) {
  return std::visit(OutOfRangeOf(), field.binding);
}

}  // namespace zero
