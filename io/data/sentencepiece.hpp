#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// A model of the library SentencePiece (Kudo and Richardson 2018). Immutable; safe from several
/// threads at once.
class SentencePieceModel {
 public:
  virtual ~SentencePieceModel() = default;
  virtual int32_t size() const = 0;
  /// The id of a piece that the model has.
  virtual std::optional<int32_t> find(const std::string& piece) const = 0;
  /// Appends the ids of a text. Throws Error(kInput) with the library's words.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
  /// The text of ids that are all below size(); the blank in front of it is left out.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
};

/// Opens `content` of the file `path`. A build without the library throws Error(kUsage) that names
/// its package; one with it throws Error(kInput), naming the file, for what is no such model.
std::unique_ptr<SentencePieceModel> open_sentencepiece(const std::string& content,
                                                       const std::string& path);

inline constexpr std::string_view kBlankMark = "\u2581";  ///< stands for a blank in pieces

/// A model's file, as far as it matters to the places where a text may be cut and to its parts.
struct SentencePieceFile {
  enum Kind : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = kNormal;
  };
  static constexpr size_t kMostPieces = size_t(1) << 20, kMostPieceBytes = 512;

  std::vector<Piece> pieces;  ///< by id
  bool byte_fallback = false, adds_prefix = true, removes_blanks = true, escapes_blanks = true;
  bool blanks_behind_words = false;

  // Rules of normalisation replace the longest key that the text goes on with.
  bool rules_keep_ascii_first = true;  ///< no key has an ASCII character behind its first character
  bool rules_write_marks = false;      ///< a rule's text holds U+2581, which stands for a blank
  std::array<bool, 128> is_replaced = {};  ///< a key is this ASCII character alone
  std::array<bool, 128> is_blank = {};     ///< becomes one blank, and begins no longer key
};

/// Reads a model. Throws Error(kInput), naming file and offset, unless `content` is a unigram model
/// that the library can take: its rules of normalisation stay within their tables, which the
/// library follows without a look, and its pieces are few and short enough to be built into a trie,
/// by a recursion as deep as the longest of them.
SentencePieceFile check_sentencepiece(std::string_view content, const std::string& path);

}  // namespace zero
