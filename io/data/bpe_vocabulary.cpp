#include "io/data/bpe_vocabulary.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxEntries = uint64_t(1) << 20;
constexpr size_t kShownBytes = 40;

/// Takes the values as the parser meets them, so that nothing is built of a file that nests, and
/// an entry that comes twice is seen.
class VocabularyReader : public nlohmann::json_sax<Json> {
 public:
  VocabularyReader(const std::string& content, const std::string& path, const std::string& advice)
      : stream_(content), path_(path), advice_(advice) {}

  BpeVocabulary read() {
    Json::sax_parse(stream_, this);
    const auto missing = std::find(out_.entries.begin(), out_.entries.end(), nullptr);
    if (missing != out_.entries.end()) {
      refuse(Exit::kInput, path_, ": no entry has id ", missing - out_.entries.begin(), ", but ",
             out_.entries.size() - 1, " is one", advice_);
    }
    return std::move(out_);
  }

  bool start_object(size_t) override {
    if (inside_) fail("an object inside the object");
    return inside_ = true;
  }
  bool key(string_t& entry) override {
    const auto [place, fresh] = out_.ids.emplace(std::move(entry), -1);
    if (place->first.empty()) fail("an empty entry");
    if (!fresh) fail(shown_entry(place->first) + " comes twice");
    current_ = &*place;
    return true;
  }
  bool number_unsigned(number_unsigned_t id) override {
    if (!inside_) fail("a number where an object begins");
    if (id >= kMaxEntries) fail(text("id ", id, ", at most ", kMaxEntries - 1, " is read"));
    if (id >= out_.entries.size()) out_.entries.resize(id + 1);
    if (out_.entries[id] != nullptr)
      fail(text("id ", id, " of ", shown_entry(current_->first), " is that of ",
                shown_entry(*out_.entries[id])));
    out_.entries[id] = &current_->first;
    current_->second = int32_t(id);
    return true;
  }
  bool end_object() override { return true; }

  bool number_integer(number_integer_t id) override { fail(text("id ", id, " is below 0")); }
  bool number_float(number_float_t, const string_t&) override { fail("an id that is no integer"); }
  bool null() override { fail("null where an id is expected"); }
  bool boolean(bool) override { fail("a boolean where an id is expected"); }
  bool string(string_t&) override { fail("a string where an id is expected"); }
  bool binary(binary_t&) override { fail("binary data where an id is expected"); }
  bool start_array(size_t) override { fail("an array"); }
  bool end_array() override { return true; }
  bool parse_error(size_t place, const std::string&, const nlohmann::detail::exception&) override {
    fail_at(int64_t(place), "is no JSON from here on");
  }

 private:
  [[noreturn]] void fail(const std::string& what) { fail_at(offset(), what); }
  /// The offset of the byte after what the parser has read; tellg() would be -1 at the end.
  int64_t offset() { return stream_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in); }
  [[noreturn]] void fail_at(int64_t place, const std::string& what) {
    refuse(Exit::kInput, path_, ": offset ", place, ": ", what,
           "; it holds one JSON object from tokens to ids", advice_);
  }

  std::istringstream stream_;
  const std::string& path_;
  const std::string& advice_;
  bool inside_ = false;
  std::pair<const std::string, int32_t>* current_ = nullptr;
  BpeVocabulary out_;
};

bool is_utf8(std::string_view bytes) {
  Utf8Checker utf8;
  for (const char byte : bytes) {
    if (!utf8.accept(uint8_t(byte))) return false;
  }
  return utf8.complete();
}

constexpr int kFirstFree = 0x100, kReplaced = 68;  // so many bytes are not printed as themselves

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<int, 256> code_points{};
  std::array<int, kFirstFree + kReplaced> bytes{};  // -1: no symbol
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  int free = kFirstFree;
  for (int byte = 0; byte < 256; ++byte) {
    const int code_point = stands_for_itself(byte) ? byte : free++;
    alphabet.code_points[size_t(byte)] = code_point;
    alphabet.bytes[size_t(code_point)] = byte;
  }
  return alphabet;
}();

/// The byte of the symbol at `at`, which moves past it; -1 if it is none.
int read_symbol(const std::string& entry, size_t& at) {
  size_t code_point = uint8_t(entry[at++]);
  if (code_point >= 0xC0 && code_point < 0xE0 && at < entry.size())
    code_point = (code_point & 0x1F) << 6 | (uint8_t(entry[at++]) & 0x3F);
  return code_point < kAlphabet.bytes.size() ? kAlphabet.bytes[code_point] : -1;
}

}  // namespace

BpeVocabulary parse_bpe_vocabulary(const std::string& content, const std::string& path,
                                   const std::string& advice) {
  return VocabularyReader(content, path, advice).read();
}

std::string shown_entry(std::string_view entry) {
  const bool cut = entry.size() > kShownBytes;
  std::string shown(entry.substr(0, kShownBytes));
  while (cut && !shown.empty() && (uint8_t(shown.back()) & 0x80)) shown.pop_back();
  const bool plain = is_utf8(shown);
  for (char& c : shown) {
    if (uint8_t(c) < 0x20 || c == 0x7F || (!plain && uint8_t(c) >= 0x80)) c = '?';
  }
  return "'" + shown + (cut ? "...'" : "'");
}

std::string bpe_symbol(uint8_t byte) {
  const int code_point = kAlphabet.code_points[byte];
  if (code_point < 0x80) return {char(code_point)};
  return {char(0xC0 | code_point >> 6), char(0x80 | (code_point & 0x3F))};
}

std::string bpe_bytes(const std::string& entry) {
  std::string bytes;
  for (size_t at = 0; at < entry.size();) {
    const int byte = read_symbol(entry, at);
    if (byte < 0) return entry;
    bytes += char(byte);
  }
  return bytes;
}

}  // namespace zero
