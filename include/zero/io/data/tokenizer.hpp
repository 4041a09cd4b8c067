#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// Ids that mean something to a model; kNone where the tokenizer's files name none.
struct SpecialIds {
  static constexpr int32_t kNone = -1;
  int32_t pad = kNone, bos = kNone, eos = kNone, unk = kNone;
  int32_t decoder_start = kNone;   ///< decoder_start_token_id of a config.json beside the files
  int32_t first_sentinel = kNone;  ///< of <extra_id_0>; <extra_id_k> is first_sentinel - k
  int32_t sentinels = 0;           ///< how many there are
};

/// Whether a text shows the tokens that are instructions to a model, such as </s>.
enum class SpecialTokens { kShown, kSkipped };

/// Text to token ids and back. Immutable; safe from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Every id is below this.
  virtual int64_t vocab_size() const = 0;

  virtual SpecialIds special_ids() const { return {}; }

  /// The ids of a text. No id is added: whoever makes samples appends eos and the like. Where the
  /// files declare special tokens, their names in the text become their ids, as in Transformers;
  /// elsewhere such a name is text like any other.
  /// Bytes and byte-level BPE take any bytes, and a byte that belongs to no UTF-8 character is
  /// encoded alone. SentencePiece normalises: runs of blanks become one, and what is no UTF-8
  /// becomes the unknown token. Throws Error(kInput) if a single word of a BPE has 4 GiB, or a text
  /// for SentencePiece more than 64 MiB.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// The text of the ids. A byte-level BPE gives the bytes of one id after the other, and a
  /// character may be spread over several ids. SentencePiece wants all ids of a text together, as
  /// the blank before the first word goes away. Throws Error(kInput) for an id that is not below
  /// vocab_size().
  virtual std::string decode(std::span<const int32_t> ids, SpecialTokens special) const = 0;
  std::string decode(std::span<const int32_t> ids) const {
    return decode(ids, SpecialTokens::kShown);
  }

  /// A number that changes with any entry of the vocabulary, any merge and any rule of encoding.
  virtual uint64_t fingerprint() const = 0;
};

/// `name` as data.tokenizer says it: "bytes" (a token is a byte); a folder with vocab.json and
/// merges.txt of a byte-level BPE (Radford et al. 2019); a folder with spiece.model, or such a
/// file, of SentencePiece's unigram model (Kudo 2018). Other files of the folder are read as
/// Transformers reads them: tokenizer_config.json, special_tokens_map.json, added_tokens.json.
/// Throws Error(kInput) naming the file, the place and how such files are made.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);

/// A file of a tokenizer, and its name in a model folder.
struct TokenizerFile {
  std::string path, name;
};

/// The files that are there of a tokenizer with this name and that open_tokenizer() reads; none of
/// "bytes".
std::vector<TokenizerFile> tokenizer_files(const std::string& name);

/// Paths of all files that open_tokenizer() may read, also of those that are not there.
std::vector<std::string> tokenizer_paths(const std::string& name);

/// Whether open_tokenizer() would find a tokenizer's files in `folder`.
bool holds_tokenizer(const std::string& folder);

}  // namespace zero
