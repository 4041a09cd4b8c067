#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace zero {

using JsonScalar = std::variant<std::nullptr_t, bool, int64_t, double, std::string>;

/// What a JSON text holds, told in the order of the text. A path names the keys that lead to a
/// value; the elements of an array have the path of the array.
class JsonSink {
 public:
  using Path = std::span<const std::string>;
  virtual ~JsonSink() = default;

  /// An object or an array begins.
  virtual void open(Path path, bool is_array) = 0;
  virtual void value(Path path, const JsonScalar& value) = 0;
};

struct JsonLimits {
  size_t depth = 3;               ///< of objects and arrays in each other
  size_t keys = size_t(1) << 17;  ///< of one object
};

/// Reads strict JSON from elsewhere: an object in UTF-8 without duplicate keys, in time and memory
/// that its length bounds. Throws Error(kInput), "<name>: byte 17: <what>", or what the sink
/// throws.
void read_json(std::string_view text, const std::string& name, const JsonLimits& limits,
               JsonSink& sink);

/// A text from elsewhere as part of a message: at most 80 bytes of it, without control characters.
std::string shown(std::string_view text);

}  // namespace zero
