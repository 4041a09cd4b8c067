#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// The ids with a meaning for a model; kNone if the tokenizer's files name none.
struct SpecialIds {
  static constexpr int32_t kNone = -1;
  int32_t pad = kNone, bos = kNone, eos = kNone, unk = kNone;
  int32_t cls = kNone, sep = kNone;  ///< in front of a sample to classify; behind each of its texts
  int32_t mask = kNone;
  int32_t decoder_start = kNone;   ///< decoder_start_token_id in a config.json beside the files
  int32_t first_sentinel = kNone;  ///< id of <extra_id_0>; <extra_id_k> has first_sentinel - k
  int32_t sentinels = 0;           ///< count of sentinels
};

/// The choice to show or skip tokens that instruct a model, such as </s>, in a text.
enum class SpecialTokens { kShown, kSkipped };

/// The choice to take the name of a special token in a text for the token, or for plain text.
/// Text from strangers is plain, so that nobody can write a token that instructs the model.
enum class SpecialNames { kTokens, kText };

/// The ids that a tokenizer puts around a text for its model.
struct TextFrame {
  std::vector<int32_t> before, after;
};

/// A converter from text to token ids and back. Immutable and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Returns a number above every id.
  virtual int64_t vocab_size() const = 0;

  virtual SpecialIds special_ids() const { return {}; }

  /// Returns the ids that the template of a tokenizer.json puts around a text, such as bos. Both
  /// lists are empty for other tokenizers.
  virtual TextFrame text_frame() const { return {}; }

  /// Returns the ids of a text. Adds no id: the caller adds those of text_frame(), eos and the
  /// like. With kTokens the name of an added token in the text becomes its id, as in Transformers.
  /// With kText that holds for tokens alone that are not special. An undeclared name is ordinary
  /// text. Bytes and byte-level BPE take any bytes, and encode a byte outside UTF-8 characters
  /// alone. SentencePiece normalises: runs of blanks become one, and invalid UTF-8 becomes the
  /// unknown token. Throws Error(kInput) if a single word of a BPE has 4 GiB, or a text for
  /// SentencePiece more than 64 MiB.
  virtual std::vector<int32_t> encode(std::string_view text, SpecialNames names) const = 0;
  std::vector<int32_t> encode(std::string_view text) const {
    return encode(text, SpecialNames::kTokens);
  }

  /// Returns the text of the ids, with special tokens shown or skipped. A byte-level BPE joins the
  /// bytes of its ids; a character may span several ids, as in a BPE with byte fallback.
  /// SentencePiece and a BPE with blank marks need all ids of a text together, because they drop
  /// the blank before the first word. Throws Error(kInput) for an id that is not below
  /// vocab_size().
  virtual std::string decode(std::span<const int32_t> ids, SpecialTokens special) const = 0;
  std::string decode(std::span<const int32_t> ids) const {
    return decode(ids, SpecialTokens::kShown);
  }

  /// Returns a number that changes with any entry of the vocabulary, any merge and any rule of
  /// encoding.
  virtual uint64_t fingerprint() const = 0;
};

/// Returns the ids of a text that a model continues: those before it in the tokenizer's
/// text_frame(), and its own. Adds none if the text begins with them already. `names` is for
/// encode().
std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text,
                                   SpecialNames names = SpecialNames::kTokens);

/// Opens the tokenizer `name`, a value of data.tokenizer. "bytes" makes a token of each byte. A
/// folder with tokenizer.json is a BPE of the package `tokenizers`, byte-level or with byte
/// fallback. A folder with vocab.json and merges.txt is a byte-level BPE (Radford et al. 2019). A
/// folder with spiece.model or spm.model, or such a file, is SentencePiece's unigram model (Kudo
/// 2018). It has the special tokens of T5Tokenizer, or under the name spm.model those of
/// DebertaV2Tokenizer. If a folder has several kinds, tokenizer.json counts if it has rules that
/// are read. Otherwise the older files count, and tokenizer.json is refused if there are none.
/// Added tokens of a tokenizer.json count beside SentencePiece's files too. Reads
/// tokenizer_config.json, special_tokens_map.json and added_tokens.json in the folder as
/// Transformers does. Throws Error(kInput) naming the file, the place and how such files are made.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);

/// A file of a tokenizer, and its name in a model folder.
struct TokenizerFile {
  std::string path, name;
};

/// Returns the existing files that go with a model for its tokenizer `name`: those that
/// open_tokenizer() reads for it, and a chat template. None for "bytes".
std::vector<TokenizerFile> tokenizer_files(const std::string& name);

/// Returns the paths of all files that open_tokenizer() may read for `name`, including missing
/// ones. None for "bytes".
std::vector<std::string> tokenizer_paths(const std::string& name);

/// True if open_tokenizer() would find a tokenizer's files in `folder`.
bool holds_tokenizer(const std::string& folder);

}  // namespace zero
