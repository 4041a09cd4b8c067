#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace zero {

using JsonScalar = std::variant<std::nullptr_t, bool, int64_t, double, std::string>;

/// A receiver of the contents of a JSON text, in the order of the text. A path names the keys that
/// lead to a value. The elements of an array have the array's path.
class JsonSink {
 public:
  using Path = std::span<const std::string>;
  virtual ~JsonSink() = default;

  /// Begins an object or an array.
  virtual void open(Path path, bool is_array) = 0;
  virtual void value(Path path, const JsonScalar& value) = 0;
  /// Ends the object or array that was begun last and has no end yet.
  virtual void close() {}
};

struct JsonLimits {
  size_t depth = 3;               ///< nesting of objects and arrays
  size_t keys = size_t(1) << 17;  ///< keys in one object
};

/// Reads a strict JSON object in UTF-8 from an untrusted source and refuses duplicate keys. The
/// text's length bounds time and memory. Throws Error(kInput), "<name>: byte 17: <what>", or what
/// the sink throws.
void read_json(std::string_view text, const std::string& name, const JsonLimits& limits,
               JsonSink& sink);

/// Returns at most 80 bytes of an untrusted text for a message, without control characters.
std::string shown(std::string_view text);

}  // namespace zero
