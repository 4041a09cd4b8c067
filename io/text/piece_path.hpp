#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/text/byte_trie.hpp"
#include "io/text/sentencepiece.hpp"

namespace zero {

/// The pieces of a unigram model, for a search in a text.
struct PieceTable {
  explicit PieceTable(const SentencePieceFile& file);

  ByteTrie trie;                               ///< pieces that may be in a text; values are ids
  std::vector<float> scores;                   ///< [ids]
  std::vector<SentencePieceFile::Kind> kinds;  ///< [ids]
  std::vector<int32_t> byte_ids;  ///< [256] id of each byte; empty without byte fallback
  int32_t unknown = 0;
  float unknown_score = 0, largest_score = 0;
};

/// A search for the pieces of a normalised text with the largest sum of scores, as in the library
/// (SentencePiece 0.1.97 to 0.2.0, unigram_model.cc, EncodeOptimized). The library sums in fp32
/// from the beginning of a text, so rounding decides between pieces of nearly equal scores. This
/// class takes the text in parts and carries the sum over. It finds the same ids in the memory of
/// one part: 12 bytes for each of its bytes.
class PiecePath {
 public:
  explicit PiecePath(const PieceTable& table) : table_(table) {}

  /// Appends the ids of the next part. REQUIRES: no piece of the table spans two parts.
  void add(std::string_view part, std::vector<int32_t>& ids);

 private:
  struct Step {
    int32_t id = -1;
    float score = 0;     ///< score of the best path that ends here
    int32_t begin = -1;  ///< start of its last piece
  };
  void follow_pieces(std::string_view part, size_t at);
  void append_piece(std::string_view piece, int32_t id, std::vector<int32_t>& ids);

  const PieceTable& table_;
  std::vector<Step> steps_;
  float score_ = 0;
  bool ends_unknown_ = false;
};

/// A finder of places where a text may be cut without a change to SentencePiece's ids. A cut is at
/// a blank, which is dropped, because each part behind it begins with a blank that the model adds.
class PieceCuts {
 public:
  explicit PieceCuts(const SentencePieceFile& file);

  struct Cut {
    size_t end;   ///< end of the part in front
    size_t next;  ///< start of the part behind
  };
  /// Returns the last cut of the first `near` bytes, else the first behind them, else the end of
  /// the text if `most` bytes have none. A part is never empty.
  Cut find(std::string_view text, size_t near, size_t most) const;

 private:
  bool may_cut(std::string_view text, size_t blank, size_t first_mark) const;

  bool is_possible_;
  bool removes_blanks_;
  std::array<bool, 128> is_blank_, is_replaced_;
};

}  // namespace zero
