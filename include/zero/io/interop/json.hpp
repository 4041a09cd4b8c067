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

  /// Receives the beginning of an array or, without `is_array`, of an object at `path`.
  virtual void open(Path path, bool is_array) = 0;
  /// Receives the scalar at `path`.
  virtual void value(Path path, const JsonScalar& value) = 0;
  /// Receives the end of the object or array that was begun last and has no end yet.
  virtual void close() {}
};

struct JsonLimits {
  size_t depth = 3;               ///< nesting of objects and arrays
  size_t keys = size_t(1) << 17;  ///< keys in one object
};

/// Reads `text`, a strict JSON object in UTF-8 from an untrusted source, and hands its contents to
/// `sink`. Refuses duplicate keys and excesses over `limits`. The text's length bounds time and
/// memory. Throws Error(kInput), "<name>: byte 17: <what>", and passes on errors of the sink.
void read_json(std::string_view text, const std::string& name, const JsonLimits& limits,
               JsonSink& sink);

/// Returns at most 80 bytes of an untrusted text for a message, without control characters.
std::string shown(std::string_view text);

}  // namespace zero
