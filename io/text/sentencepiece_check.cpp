#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "io/text/sentencepiece.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr uint64_t kPiece = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
constexpr uint64_t kPieceText = 1, kPieceScore = 2, kPieceKind = 3;
constexpr uint64_t kModelType = 3, kBlanksBehindWords = 24, kByteFallback = 35;
constexpr uint64_t kRules = 2, kAddsPrefix = 3, kRemovesBlanks = 4, kEscapesBlanks = 5;
constexpr uint64_t kUnigram = 1;

struct File {
  std::string_view content;
  const std::string& path;

  [[noreturn]] void fail(std::string_view at, const std::string& what) const {
    refuse(Exit::kInput, path, ": offset ", at.data() - content.data(), ": ", what,
           "; it is no unigram model of SentencePiece, or a damaged one");
  }
};

/// A field of a protocol buffers message: a number, or bytes.
struct Field {
  uint64_t key = 0, number = 0;
  std::string_view bytes;
};

/// A reader of the fields of a message.
class Fields {
 public:
  Fields(const File& file, std::string_view rest) : file_(file), rest_(rest) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    field = {.key = tag >> 3, .number = 0, .bytes = {}};
    switch (tag & 7) {
      case 0:
        field.number = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        file_.fail(rest_, text("a field of type ", tag & 7));
    }
    return true;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = uint8_t(take(1)[0]);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    file_.fail(rest_, "a number of more than 64 bits");
  }
  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size())
      file_.fail(rest_, text("a field of ", bytes, " bytes, but ", rest_.size(), " are left"));
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  const File& file_;
  std::string_view rest_;
};

/// The rules of normalisation: a double array (Aoe 1989) of keys in darts-clone's layout, and the
/// zero-ended texts that replace them. The library follows a text through the array, and takes up
/// to 32 rules that begin at one place.
class Rules {
 public:
  Rules(const File& file, std::string_view blob) : file_(file), blob_(blob) {
    uint32_t bytes = 0;
    if (blob.size() < sizeof bytes) fail("rules of normalisation without their length");
    std::memcpy(&bytes, blob.data(), sizeof bytes);
    if (bytes % sizeof(uint32_t) != 0 || bytes == 0 || bytes >= blob.size() - sizeof bytes)
      fail(text("a table of ", bytes, " bytes in rules of ", blob.size()));
    units_.resize(bytes / sizeof(uint32_t));
    std::memcpy(units_.data(), blob.data() + sizeof bytes, bytes);
    texts_ = blob.substr(sizeof bytes + bytes);
    if (texts_.back() != '\0') fail("texts of rules without an end");
    rules_below_.resize(units_.size(), kUnknown);
  }

  void check() { count_below(0, 0); }

  /// Adds what the rules do to ASCII. REQUIRES: check() has returned.
  void describe(SentencePieceFile& out) const {
    if (texts_.find(kBlankMark) != texts_.npos) out.rules_write_marks = true;
    if (is_ascii_within_) out.rules_keep_ascii_first = false;
    for (uint8_t byte = 1; byte < 0x80; ++byte) {
      const uint32_t root = offset_of(units_[0]), place = root ^ byte;
      if (!leads(root, byte)) continue;
      const uint32_t first = place ^ offset_of(units_[place]);
      const bool is_key = ends_at(place);
      out.is_replaced[byte] = out.is_replaced[byte] || is_key;
      const bool is_blank = is_key ? text_at(first) == " " : out.is_blank[byte];
      out.is_blank[byte] = is_blank && !goes_on(first);
    }
  }

 private:
  static constexpr int kUnknown = -1, kBegun = -2, kMostRules = 32, kMostDepth = 256;

  static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  bool ends_at(uint32_t place) const { return place != 0 && (units_[place] >> 8 & 1) != 0; }
  bool leads(uint32_t first, uint32_t byte) const {
    return (units_[first ^ byte] & 0x800000FF) == byte;
  }
  bool goes_on(uint32_t first) const {
    for (uint32_t byte = 1; byte <= 0xFF; ++byte) {
      if (leads(first, byte)) return true;
    }
    return false;
  }
  std::string_view text_at(uint32_t first) const {
    return texts_.data() + (units_[first] & 0x7FFFFFFF);  // ends with a zero byte
  }

  /// Returns the most rules on a way from `place` on. Refuses a way out of the array.
  int count_below(uint32_t place, int depth) {
    if (depth > kMostDepth || rules_below_[place] == kBegun) fail("rules that have no end");
    if (rules_below_[place] != kUnknown) return rules_below_[place];
    rules_below_[place] = kBegun;
    const uint32_t unit = units_[place], first = place ^ offset_of(unit);
    if ((first | 0xFF) >= units_.size()) fail(text("a rule leads to place ", first));
    const bool ends = ends_at(place);
    if (ends && (units_[first] & 0x7FFFFFFF) >= texts_.size()) fail("a rule without its text");
    int below = 0;
    for (uint32_t byte = 0; byte <= 0xFF; ++byte) {
      if (!leads(first, byte)) continue;
      is_ascii_within_ = is_ascii_within_ || (place != 0 && byte < 0x80);
      below = std::max(below, count_below(first ^ byte, depth + 1));
    }
    if (below + ends > kMostRules) fail(text("more than ", kMostRules, " rules for one place"));
    return rules_below_[place] = below + ends;
  }

  [[noreturn]] void fail(const std::string& what) const { file_.fail(blob_, what); }

  const File& file_;
  std::string_view blob_, texts_;
  std::vector<uint32_t> units_;
  std::vector<int> rules_below_;  // [places]
  bool is_ascii_within_ = false;
};

void read_normalizer(const File& file, std::string_view message, SentencePieceFile& out) {
  Field field;
  for (Fields fields(file, message); fields.next(field);) {
    if (field.key == kAddsPrefix) out.adds_prefix = field.number != 0;
    if (field.key == kRemovesBlanks) out.removes_blanks = field.number != 0;
    if (field.key == kEscapesBlanks) out.escapes_blanks = field.number != 0;
    if (field.key != kRules || field.bytes.empty()) continue;
    Rules rules(file, field.bytes);
    rules.check();
    rules.describe(out);
  }
}

void read_trainer(const File& file, std::string_view message, SentencePieceFile& out) {
  Field field;
  for (Fields fields(file, message); fields.next(field);) {
    if (field.key == kModelType && field.number != kUnigram)
      file.fail(message, text("a model of type ", field.number, ", where ", kUnigram, " is read"));
    if (field.key == kBlanksBehindWords) out.blanks_behind_words = field.number != 0;
    if (field.key == kByteFallback) out.byte_fallback = field.number != 0;
  }
}

void read_piece(const File& file, std::string_view message, SentencePieceFile& out) {
  using Kind = SentencePieceFile::Kind;
  if (out.pieces.size() == SentencePieceFile::kMostPieces)
    file.fail(message, text("more than ", SentencePieceFile::kMostPieces, " pieces"));
  SentencePieceFile::Piece& piece = out.pieces.emplace_back();
  Field field;
  for (Fields fields(file, message); fields.next(field);) {
    if (field.key == kPieceText) piece.text = field.bytes;
    if (field.key == kPieceScore && field.bytes.size() == sizeof piece.score)
      std::memcpy(&piece.score, field.bytes.data(), sizeof piece.score);
    if (field.key == kPieceKind && field.number >= Kind::kNormal && field.number <= Kind::kByte)
      piece.kind = Kind(field.number);
  }
  if (!std::isfinite(piece.score))
    file.fail(message, text("piece ", out.pieces.size() - 1, " has the score ", piece.score));
  if (piece.text.size() > SentencePieceFile::kMostPieceBytes) {
    file.fail(message, text("piece ", out.pieces.size() - 1, " has ", piece.text.size(),
                            " bytes, at most ", SentencePieceFile::kMostPieceBytes, " are read"));
  }
}

/// Refuses pieces of which many share a hash of the library, because each lookup would search them
/// all.
void require_hashes(const File& file, const std::vector<SentencePieceFile::Piece>& pieces) {
  constexpr int kMostAlike = 256;
  std::unordered_set<std::string_view> like_theirs;
  like_theirs.reserve(pieces.size());
  std::vector<int> alike(like_theirs.bucket_count());
  for (const SentencePieceFile::Piece& piece : pieces) {
    const size_t bucket = std::hash<std::string_view>()(piece.text) % alike.size();
    if (++alike[bucket] > kMostAlike)
      file.fail(file.content, text("more than ", kMostAlike, " pieces have one hash"));
  }
}

}  // namespace

SentencePieceFile check_sentencepiece(std::string_view content, const std::string& path) {
  const File file{.content = content, .path = path};
  if (content.empty())
    refuse(Exit::kInput, path, ": is empty; it should be a model of SentencePiece");
  SentencePieceFile out;
  out.is_blank[' '] = true;
  Field field;
  for (Fields fields(file, content); fields.next(field);) {
    if (field.key == kPiece) read_piece(file, field.bytes, out);
    if (field.key == kTrainer) read_trainer(file, field.bytes, out);
    if (field.key == kNormalizer) read_normalizer(file, field.bytes, out);
    if (field.key == kDenormalizer) {
      SentencePieceFile unused;
      read_normalizer(file, field.bytes, unused);
    }
  }
  require_hashes(file, out.pieces);
  return out;
}

}  // namespace zero
