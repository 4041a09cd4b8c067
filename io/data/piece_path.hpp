#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/data/byte_trie.hpp"
#include "io/data/sentencepiece.hpp"

namespace zero {

/// The pieces of a unigram model, to be found in a text.
struct PieceTable {
  explicit PieceTable(const SentencePieceFile& file);

  ByteTrie trie;                               ///< of what a text may be made of; values are ids
  std::vector<float> scores;                   ///< by id
  std::vector<SentencePieceFile::Kind> kinds;  ///< by id
  std::vector<int32_t> byte_ids;               ///< of the 256 bytes; empty without byte fallback
  int32_t unknown = 0;
  float unknown_score = 0, largest_score = 0;
};

/// Finds the pieces of a normalised text whose scores have the largest sum, as the library does
/// (SentencePiece 0.1.97 to 0.2.0, unigram_model.cc, EncodeOptimized). The library sums in fp32
/// from the beginning of a text, so its rounding decides between pieces that score nearly alike.
/// This class takes the text in parts and carries the sum over, and so finds the same ids in the
/// memory of one part: 12 bytes for each of its bytes.
class PiecePath {
 public:
  explicit PiecePath(const PieceTable& table) : table_(table) {}

  /// Appends the ids of the next part. REQUIRES: no piece of the table spans two parts.
  void add(std::string_view part, std::vector<int32_t>& ids);

 private:
  struct Step {
    int32_t id = -1;
    float score = 0;     ///< of the best path that ends here
    int32_t begin = -1;  ///< of its last piece
  };
  void follow_pieces(std::string_view part, size_t at);
  void append_piece(std::string_view piece, int32_t id, std::vector<int32_t>& ids);

  const PieceTable& table_;
  std::vector<Step> steps_;
  float score_ = 0;
  bool ends_unknown_ = false;
};

/// True if SentencePiece makes the same of a text as of its parts, for a model and a place: the
/// text is cut at a blank, which goes, as each part behind it begins with one that the model adds.
class PieceCuts {
 public:
  explicit PieceCuts(const SentencePieceFile& file);

  struct Cut {
    size_t end;   ///< of the part in front
    size_t next;  ///< where the part behind begins
  };
  /// The last cut of the first `near` bytes, else the first one behind them; the end of the text
  /// where there is none in `most` bytes. A part is never empty.
  Cut find(std::string_view text, size_t near, size_t most) const;

 private:
  bool may_cut(std::string_view text, size_t blank, size_t first_mark) const;

  bool is_possible_;
  bool removes_blanks_;
  std::array<bool, 128> is_blank_, is_replaced_;
};

}  // namespace zero
