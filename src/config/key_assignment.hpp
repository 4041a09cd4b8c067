#pragma once

#include <string>

#include "src/config/fields.hpp"

namespace zero {

/// Stores `value`. Returns "" on success, otherwise the error text.
std::string assign(const Field& field, const TomlValue& value);

/// True if the values are equal. Integers and reals of equal size are: 1e9, 1000000000.
bool same_value(const TomlValue& a, const TomlValue& b);

/// True if `value` could be meant for a key without a member, supported or not. It has the type of
/// the accepted values, or is a number where "auto" is accepted. All numbers are of one type.
bool could_be_of(const Fixed& fixed, const TomlValue& value);

}  // namespace zero
