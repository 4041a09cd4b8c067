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

/// A model of the library SentencePiece (Kudo and Richardson 2018). Immutable and thread-safe.
class SentencePieceModel {
 public:
  virtual ~SentencePieceModel() = default;
  virtual int32_t size() const = 0;
  /// Returns the id of a piece, or none if the model lacks it.
  virtual std::optional<int32_t> find(const std::string& piece) const = 0;
  /// Appends the ids of a text. Throws Error(kInput) with the library's words.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
  /// Returns the text of the ids, without the blank in front. REQUIRES: ids are below size().
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
};

/// Opens `content` of the file `path`. Throws Error(kUsage) naming the package if the build lacks
/// the library, else Error(kInput) naming the file if it is no such model.
std::unique_ptr<SentencePieceModel> open_sentencepiece(const std::string& content,
                                                       const std::string& path);

inline constexpr std::string_view kBlankMark = "\u2581";  ///< a blank in pieces

/// The parts of a model's file that decide where a text may be cut, and its pieces.
struct SentencePieceFile {
  enum Kind : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = kNormal;
  };
  static constexpr size_t kMostPieces = size_t(1) << 20, kMostPieceBytes = 512;

  std::vector<Piece> pieces;  ///< [ids]
  bool byte_fallback = false, adds_prefix = true, removes_blanks = true, escapes_blanks = true;
  bool blanks_behind_words = false;

  // Rules of normalisation replace the longest key at a place of the text.
  bool rules_keep_ascii_first = true;      ///< no key has ASCII after its first character
  bool rules_write_marks = false;          ///< a rule's text holds U+2581, which stands for a blank
  std::array<bool, 128> is_replaced = {};  ///< a key is this ASCII character alone
  std::array<bool, 128> is_blank = {};     ///< becomes one blank, and begins no longer key
};

/// Reads a model. Throws Error(kInput), naming file and offset, unless `content` is a unigram model
/// that the library can take. Its normalisation rules must stay within their tables, because the
/// library does not check. Its pieces must be few and short, because the library builds a trie by a
/// recursion as deep as the longest.
SentencePieceFile check_sentencepiece(std::string_view content, const std::string& path);

}  // namespace zero
