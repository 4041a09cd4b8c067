#pragma once

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {

/// Legal values of a number. `automatic` says that "auto" is one too, kept as 0.
struct Range {
  double low = 0;
  double high = 9e15;       ///< integers stay exact in a double
  bool above_low = false;   ///< low itself is refused
  bool below_high = false;  ///< high itself is refused
  bool automatic = false;
  std::string_view hint = {};  ///< added to every refusal
};

/// One of some names; the enumerators count from 0 in the same order.
struct Choice {
  std::vector<std::string_view> names;
  std::function<int()> get;
  std::function<void(int)> set;
  std::string_view hint;  ///< added to every refusal
};

/// A key that this program cannot be asked to change: the values that ask for what it does, the
/// default first, and why every other value is refused.
struct Fixed {
  std::vector<TomlValue> accepted;
  std::string_view reason;
};

struct Integer {
  int64_t* value;
  Range range;
};
struct Real {
  double* value;
  Range range;
};
/// Bytes: an integer, or text such as "24GiB"; "auto" is kept as 0.
struct Size {
  int64_t* value;
};

using Slot = std::variant<bool*, Integer, Real, Size, std::string*, std::array<double, 2>*,
                          Recompute*, Choice, Fixed>;

struct Field {
  std::string key;
  Slot slot;
};

/// Every key of the input file, once, with the place in `config` that it fills.
std::vector<Field> fields_of(RunConfig& config);

/// Stores `value`; returns "" or what is wrong with it and what would work.
std::string assign(const Field& field, const TomlValue& value);

/// The member as it would stand in a file; of a Fixed key its default.
TomlValue value_of(const Field& field);

}  // namespace zero
