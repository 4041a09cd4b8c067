#pragma once

#include <vector>

#include "io/data/data_file.hpp"
#include "io/data/token_source.hpp"
#include "zero/io/data/tokenizer.hpp"

namespace zero {

/// What a tokenizer makes of a text, encoded once and kept in memory.
class EncodedText : public TokenSource {
 public:
  static constexpr int64_t kMostBytes = int64_t(64) << 20;  ///< of the text

  /// Reads the whole text. Throws Error(kInput) if it is no UTF-8 or has more than kMostBytes,
  /// then with `advice`.
  EncodedText(const DataFile& file, const Tokenizer& tokenizer, const std::string& advice);

  int64_t tokens() const override { return int64_t(ids_.size()); }
  int64_t vocab_size() const override { return vocab_size_; }
  std::string format() const override { return "UTF-8 text, encoded by a tokenizer"; }
  void read(int64_t first, std::span<int32_t> out) const override;
  /// Covers the text as it was read, and the tokenizer.
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::vector<int32_t> ids_;
  int64_t vocab_size_;
  uint64_t fingerprint_ = 0;
};

}  // namespace zero
