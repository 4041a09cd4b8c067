#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zero {

/// A source of samples: a file, or a substitute for one. Threads may read it at once.
class DataSource {
 public:
  virtual ~DataSource() = default;

  /// Returns a short description for people: "UTF-8 text, a token a byte".
  virtual std::string format() const = 0;

  /// Returns the name of one item, such as "token". items() counts them.
  virtual std::string_view item() const = 0;
  virtual int64_t items() const = 0;

  /// Returns a number above every id, or 0 without ids.
  virtual int64_t vocab_size() const = 0;

  /// Reads and checks everything once and returns a number that changes with any byte. Ranks and
  /// resumed runs compare it. Throws Error(kInput) naming file, offset and value of a fault.
  virtual uint64_t fingerprint() const = 0;
};

}  // namespace zero
