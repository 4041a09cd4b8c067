#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "zero/io/data/dataset.hpp"

namespace zero {

/// A long row of token ids on the host.
class TokenSource : public DataSource {
 public:
  virtual int64_t tokens() const = 0;

  /// Fills `out` with the tokens from `first` on; done when it returns; allocates nothing.
  /// Requires first + out.size() <= tokens(). Throws Error(kInput) if the data is damaged.
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;

  std::string_view item() const override { return "token"; }
  int64_t items() const override { return tokens(); }
};

}  // namespace zero
