#pragma once

#include "io/data/bpe_files.hpp"
#include "zero/io/data/tokenizer.hpp"

namespace zero {

/// The byte-level BPE of Radford et al. 2019: word_end() cuts the text, WordMerger makes ids of
/// each word.
class BpeTokenizer : public Tokenizer {
 public:
  /// Throws as read_bpe_files().
  explicit BpeTokenizer(const std::string& folder) : files_(read_bpe_files(folder)) {}

  int64_t vocab_size() const override { return int64_t(files_.tokens.size()); }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  uint64_t fingerprint() const override { return files_.fingerprint; }

 private:
  BpeFiles files_;
};

}  // namespace zero
