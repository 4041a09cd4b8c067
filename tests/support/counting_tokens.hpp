#pragma once
/// A source of tokens that tell where they stand.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <string>

#include "io/data/token_source.hpp"

namespace zero::testing_support {

/// Token i is 100 + i.
class Counting : public TokenSource {
 public:
  explicit Counting(int64_t tokens) : tokens_(tokens) {}
  int64_t tokens() const override { return tokens_; }
  int64_t vocab_size() const override { return 100 + tokens_; }
  std::string format() const override { return "counting"; }
  void read(int64_t first, std::span<int32_t> out) const override {
    ASSERT_TRUE(first >= 0 && first + int64_t(out.size()) <= tokens_);
    std::iota(out.begin(), out.end(), int32_t(100 + first));
  }
  uint64_t fingerprint() const override { return 1; }

 private:
  int64_t tokens_;
};

}  // namespace zero::testing_support
