#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace zero {

/// A long row of token ids on the host. Reading is safe from several threads at once.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual int64_t tokens() const = 0;

  /// Every id is below this.
  virtual int64_t vocab_size() const = 0;

  /// What they are read from, in a few words for people: "UTF-8 text, a token a byte".
  virtual std::string format() const = 0;

  /// Fills `out` with the tokens from `first` on; done when it returns; allocates nothing.
  /// Requires first + out.size() <= tokens(). Throws Error(kInput) if the data is damaged.
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;

  /// Reads everything once, checks it, and returns a number that changes with any byte: ranks and
  /// resumed runs compare it. Throws Error(kInput) naming file, offset and value of what is wrong.
  virtual uint64_t fingerprint() const = 0;
};

}  // namespace zero
