#include <algorithm>
#include <cstring>

#include "io/data/sentencepiece.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

// Fields of sentencepiece_model.proto.
constexpr uint64_t kTrainer = 2, kNormalizer = 3, kDenormalizer = 5, kModelType = 3, kRules = 2;
constexpr uint64_t kUnigram = 1;

struct File {
  std::string_view content;
  const std::string& path;

  [[noreturn]] void fail(std::string_view at, const std::string& what) const {
    refuse(Exit::kInput, path, ": offset ", at.data() - content.data(), ": ", what,
           "; it is no unigram model of SentencePiece, or a damaged one");
  }
};

/// One field of a message in the encoding of protocol buffers: a number, or bytes.
struct Field {
  uint64_t key = 0, number = 0;
  std::string_view bytes;
};

/// The fields of a message one after the other.
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

/// The rules of normalisation: a double array (Aoe 1989) of what is replaced, as darts-clone lays
/// it out, and the texts that stand for it, each ended by a zero byte. The library follows a text
/// through the array, and takes up to 32 rules that begin at one place.
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

 private:
  static constexpr int kUnknown = -1, kBegun = -2, kMostRules = 32, kMostDepth = 256;

  static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  /// The most rules on a way from `place` on. Every place that a text leads to lies in the array.
  int count_below(uint32_t place, int depth) {
    if (depth > kMostDepth || rules_below_[place] == kBegun) fail("rules that have no end");
    if (rules_below_[place] != kUnknown) return rules_below_[place];
    rules_below_[place] = kBegun;
    const uint32_t unit = units_[place], first = place ^ offset_of(unit);
    if ((first | 0xFF) >= units_.size()) fail(text("a rule leads to place ", first));
    const bool ends = place != 0 && (unit >> 8 & 1) != 0;
    if (ends && (units_[first] & 0x7FFFFFFF) >= texts_.size()) fail("a rule without its text");
    int below = 0;
    for (uint32_t byte = 0; byte <= 0xFF; ++byte) {
      const uint32_t next = first ^ byte;
      if ((units_[next] & 0x800000FF) == byte)
        below = std::max(below, count_below(next, depth + 1));
    }
    if (below + ends > kMostRules) fail(text("more than ", kMostRules, " rules for one place"));
    return rules_below_[place] = below + ends;
  }

  [[noreturn]] void fail(const std::string& what) const { file_.fail(blob_, what); }

  const File& file_;
  std::string_view blob_, texts_;
  std::vector<uint32_t> units_;
  std::vector<int> rules_below_;  // by place
};

void check_rules(const File& file, std::string_view message) {
  Field field;
  for (Fields fields(file, message); fields.next(field);) {
    if (field.key == kRules && !field.bytes.empty()) Rules(file, field.bytes).check();
  }
}

void check_trainer(const File& file, std::string_view message) {
  Field field;
  for (Fields fields(file, message); fields.next(field);) {
    if (field.key == kModelType && field.number != kUnigram)
      file.fail(message, text("a model of type ", field.number, ", where ", kUnigram, " is read"));
  }
}

}  // namespace

void check_sentencepiece(std::string_view content, const std::string& path) {
  const File file{.content = content, .path = path};
  if (content.empty()) refuse(Exit::kInput, path, ": is empty; it should be a spiece.model");
  Field field;
  for (Fields fields(file, content); fields.next(field);) {
    if (field.key == kTrainer) check_trainer(file, field.bytes);
    if (field.key == kNormalizer || field.key == kDenormalizer) check_rules(file, field.bytes);
  }
}

}  // namespace zero
