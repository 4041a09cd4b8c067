#pragma once
/// Files of tokens, with little-endian numbers. They are told apart by their first bytes, else by
/// their name:
///
///   token file   32 bytes of header, then ids up to the end of the file: 16-bit ones for a
///                vocabulary of at most 65536, else 32-bit ones. Header: 93 'Z' 'T' 'O' 'K' 0D 0A
///                1A, u32 version = 1, u32 vocab_size, u64 tokens, u32 CRC-32 of the ids, u32 zero.
///                Made by tools/data/tokens.py.
///   llm.c        256 int32 of header (magic 20240520 and version 1: uint16 ids; magic 20240801
///                and version 7: uint32 ids; the third number is their count), then ids.
///   Megatron-LM  X.bin beside X.idx: the index says the type of the ids and where sequences and
///                documents begin, which are joined in their order. Both kinds of index are read:
///                "MMIDIDX" and the older "TNTIDX"; types are int8 to int64, uint8 and uint16.
///   nanoGPT      any other file named .bin, if it is no text: uint16 ids and nothing else.
///   text         any other file: UTF-8. Its tokens are its bytes, or those of a tokenizer.
///
/// Ids are checked against the file's own vocabulary, or the model's if the file states none.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/data/data_file.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// A long row of token ids on the host.
class TokenSource : public DataSource {
 public:
  virtual int64_t tokens() const = 0;

  /// Fills `out` with the tokens from `first` on; done on return. Allocates nothing. Throws
  /// Error(kInput) if the data is damaged. REQUIRES: first + out.size() <= tokens().
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;

  std::string_view item() const override { return "token"; }
  int64_t items() const override { return tokens(); }
};

struct TokenOptions {
  std::string path = {};            ///< path; of a pair, that of the .bin
  std::string tokenizer = "bytes";  ///< for a text, as open_tokenizer() takes it
  int64_t vocab_size = 0;           ///< vocabulary size of the model
};

/// Opens a file of any of these formats and checks header, index and lengths. Ids and text are
/// checked by read() where it reads, and all by fingerprint(). A text for another tokenizer than
/// "bytes" is read, checked and encoded here, into memory. Throws Error(kInput) naming file, offset
/// and value of a fault, how to make a missing file, and the vocabulary that a model would need;
/// Error(kIo) if the disk fails.
std::unique_ptr<TokenSource> open_tokens(const TokenOptions& options);

/// True for a text whose tokens are those of a tokenizer. False for a missing file.
bool is_text_to_encode(const TokenOptions& options);

/// The ids of a text, encoded once by a tokenizer and kept in memory.
class EncodedText : public TokenSource {
 public:
  static constexpr int64_t kMostBytes = int64_t(64) << 20;  ///< most bytes of the text

  /// Reads and encodes the whole text. Throws Error(kInput) if it is not UTF-8 or, with `advice`,
  /// has more than kMostBytes.
  EncodedText(const DataFile& file, const Tokenizer& tokenizer, const std::string& advice);

  int64_t tokens() const override { return int64_t(ids_.size()); }
  int64_t vocab_size() const override { return vocab_size_; }
  std::string format() const override { return "UTF-8 text, encoded by a tokenizer"; }
  void read(int64_t first, std::span<int32_t> out) const override;
  /// Returns a number that covers the text as it was read, and the tokenizer.
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::vector<int32_t> ids_;
  int64_t vocab_size_;
  uint64_t fingerprint_ = 0;
};

}  // namespace zero
