#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zero {

/// What samples are read from: a file, or what stands for one. Reading is safe from several threads
/// at once.
class DataSource {
 public:
  virtual ~DataSource() = default;

  /// In a few words for people: "UTF-8 text, a token a byte".
  virtual std::string format() const = 0;

  /// What it is counted in, one of them: "token". And how many it has.
  virtual std::string_view item() const = 0;
  virtual int64_t items() const = 0;

  /// Every id is below this; 0 where it has none.
  virtual int64_t vocab_size() const = 0;

  /// Reads everything once, checks it, and returns a number that changes with any byte: ranks and
  /// resumed runs compare it. Throws Error(kInput) naming file, offset and value of what is wrong.
  virtual uint64_t fingerprint() const = 0;
};

}  // namespace zero
