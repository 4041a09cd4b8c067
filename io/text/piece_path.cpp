#include "io/text/piece_path.hpp"

#include <algorithm>
#include <cfloat>
#include <charconv>

namespace zero {
namespace {

using Kind = SentencePieceFile::Kind;
using Piece = SentencePieceFile::Piece;

constexpr float kUnknownPenalty = 10;

bool is_in_texts(const Piece& piece) {
  return piece.kind == Kind::kNormal || piece.kind == Kind::kUserDefined ||
         piece.kind == Kind::kUnused;
}

ByteTrie trie_of(const std::vector<Piece>& pieces) {
  std::vector<ByteTrie::Entry> entries;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (is_in_texts(pieces[id])) entries.push_back({.text = pieces[id].text, .value = int32_t(id)});
  }
  std::ranges::stable_sort(entries, {}, &ByteTrie::Entry::text);
  return ByteTrie(entries);
}

/// Returns the byte of a piece such as "<0xE4>", or -1.
int byte_of(std::string_view piece) {
  int byte = -1;
  if (piece.size() == 6) std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return byte;
}

/// Returns the length of the character with this first byte, as the library counts it.
size_t character_bytes(char lead) {
  const auto byte = uint8_t(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// True if the piece has a blank behind another character.
bool spans_words(std::string_view piece) {
  for (size_t at = piece.find(kBlankMark); at != piece.npos; at = piece.find(kBlankMark, at + 1)) {
    if (at > 0 && !piece.substr(0, at).ends_with(kBlankMark)) return true;
  }
  return false;
}

}  // namespace

PieceTable::PieceTable(const SentencePieceFile& file)
    : trie(trie_of(file.pieces)), largest_score(FLT_MIN) {
  float smallest = FLT_MAX;
  if (file.byte_fallback) byte_ids.resize(256);
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const Piece& piece = file.pieces[id];
    scores.push_back(piece.score);
    kinds.push_back(piece.kind);
    if (piece.kind == Kind::kUnknown) unknown = int32_t(id);
    const int byte = file.byte_fallback && piece.kind == Kind::kByte ? byte_of(piece.text) : -1;
    if (byte >= 0) byte_ids[size_t(byte)] = int32_t(id);
    if (piece.kind != Kind::kNormal) continue;
    smallest = std::min(smallest, piece.score);
    largest_score = std::max(largest_score, piece.score);
  }
  unknown_score = smallest - kUnknownPenalty;
}

void PiecePath::follow_pieces(std::string_view part, size_t at) {
  const float here = steps_[at].score;
  // The library compares a sum in fp64 with the fp32 sum it kept, except for unknown characters.
  const auto offer = [&](size_t end, int32_t id, auto score) {
    Step& step = steps_[end];
    if (step.begin >= 0 && !(score > step.score)) return;
    step = {.id = id, .score = float(score), .begin = int32_t(at)};
  };
  const size_t character = std::min(character_bytes(part[at]), part.size() - at);
  bool is_known = false;
  uint32_t node = 0;
  for (size_t end = at; end < part.size();) {
    node = table_.trie.child(node, uint8_t(part[end++]));
    if (node == ByteTrie::kNoNode) break;
    const int32_t id = table_.trie.value(node);
    if (id < 0 || table_.kinds[size_t(id)] == Kind::kUnused) continue;
    const bool is_user_defined = table_.kinds[size_t(id)] == Kind::kUserDefined;
    const double score = is_user_defined ? float(end - at) * table_.largest_score - 0.1
                                         : double(table_.scores[size_t(id)]);
    offer(end, id, score + double(here));
    is_known = is_known || end - at == character;
  }
  if (!is_known) offer(at + character, table_.unknown, table_.unknown_score + here);
}

/// Appends a piece. Unknown pieces in a row become one, or their bytes.
void PiecePath::append_piece(std::string_view piece, int32_t id, std::vector<int32_t>& ids) {
  const bool is_unknown = table_.kinds[size_t(id)] == Kind::kUnknown;
  if (is_unknown && !table_.byte_ids.empty()) {
    for (const char byte : piece) ids.push_back(table_.byte_ids[uint8_t(byte)]);
  } else if (!is_unknown || !ends_unknown_) {
    ids.push_back(id);
  }
  ends_unknown_ = is_unknown;
}

void PiecePath::add(std::string_view part, std::vector<int32_t>& ids) {
  steps_.assign(part.size() + 1, {});
  steps_[0].score = score_;
  for (size_t at = 0; at < part.size();) {
    follow_pieces(part, at);
    at += std::min(character_bytes(part[at]), part.size() - at);
  }
  score_ = steps_[part.size()].score;
  std::vector<size_t> ends;
  for (size_t end = part.size(); end > 0; end = size_t(steps_[end].begin)) ends.push_back(end);
  for (size_t i = ends.size(); i-- > 0;) {
    const Step& step = steps_[ends[i]];
    append_piece(part.substr(size_t(step.begin), ends[i] - size_t(step.begin)), step.id, ids);
  }
}

PieceCuts::PieceCuts(const SentencePieceFile& file)
    : is_possible_(file.adds_prefix && file.escapes_blanks && !file.blanks_behind_words &&
                   file.rules_keep_ascii_first && !file.rules_write_marks),
      removes_blanks_(file.removes_blanks),
      is_blank_(file.is_blank),
      is_replaced_(file.is_replaced) {
  for (const Piece& piece : file.pieces) {
    const bool holds_blank = std::ranges::any_of(
        piece.text, [&](char c) { return uint8_t(c) < 0x80 && is_blank_[uint8_t(c)]; });
    if (piece.kind == Kind::kUserDefined && holds_blank) is_possible_ = false;
    if (is_in_texts(piece) &&
        (spans_words(piece.text) || piece.text.find('\0') != std::string::npos))
      is_possible_ = false;
  }
}

/// True if the text may be cut at `blank`. The normalised text before the blank must end with the
/// same character, because the library removes blanks, and U+2581, from the end of a text.
bool PieceCuts::may_cut(std::string_view text, size_t blank, size_t first_mark) const {
  const auto byte = uint8_t(text[blank]);
  if (blank == 0 || byte >= 0x80 || !is_blank_[byte]) return false;
  const auto before = uint8_t(text[blank - 1]);
  if (before >= 0x80) return removes_blanks_ && blank < first_mark;
  return before > ' ' && before < 0x7F && !is_replaced_[before];
}

PieceCuts::Cut PieceCuts::find(std::string_view text, size_t near, size_t most) const {
  const size_t end = is_possible_ && !text.empty() ? std::min(text.size() - 1, most) : 0;
  const size_t first_mark = text.substr(0, end).find(kBlankMark);
  for (size_t blank = std::min(near, end); blank-- > 0;) {
    if (may_cut(text, blank, first_mark)) return {.end = blank, .next = blank + 1};
  }
  for (size_t blank = near; blank < end; ++blank) {
    if (may_cut(text, blank, first_mark)) return {.end = blank, .next = blank + 1};
  }
  return {.end = text.size(), .next = text.size()};
}

}  // namespace zero
