#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// Text to token ids and back. Immutable; safe from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Every id is below this.
  virtual int64_t vocab_size() const = 0;

  /// Encodes any bytes: decode() gives them back. A byte that belongs to no UTF-8 character is
  /// encoded alone. The name of a special token such as <|endoftext|> is text like any other here.
  /// Throws Error(kInput) if a single word has 4 GiB.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// The bytes of the ids, one after the other; a character may be spread over several ids.
  /// Throws Error(kInput) for an id that is not below vocab_size().
  virtual std::string decode(std::span<const int32_t> ids) const = 0;

  /// A number that changes with any entry of the vocabulary or any merge.
  virtual uint64_t fingerprint() const = 0;
};

/// `name` as data.tokenizer says it: "bytes" (a token is a byte), or a folder with vocab.json and
/// merges.txt of a byte-level BPE (Radford et al. 2019). Throws Error(kInput) naming the file, the
/// place and how such files are made.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);

}  // namespace zero
