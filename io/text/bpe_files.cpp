#include "io/text/bpe_files.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxEntries = uint64_t(1) << 20;
constexpr size_t kShownBytes = 40;

/// A parser of vocab.json. It takes the values as the parser meets them, so a nested file builds
/// nothing and a repeated entry is seen.
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
  /// Returns the offset after the last byte read. tellg() would return -1 at the end.
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

constexpr int kFirstFree = 0x100, kReplaced = 68;  // bytes that are not their own symbols

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

/// Returns the byte of the symbol at `at`, or -1, and moves `at` past the symbol.
int read_symbol(const std::string& entry, size_t& at) {
  size_t code_point = uint8_t(entry[at++]);
  if (code_point >= 0xC0 && code_point < 0xE0 && at < entry.size())
    code_point = (code_point & 0x1F) << 6 | (uint8_t(entry[at++]) & 0x3F);
  return code_point < kAlphabet.bytes.size() ? kAlphabet.bytes[code_point] : -1;
}

constexpr int64_t kMaxFileBytes = int64_t(64) << 20;
constexpr size_t kMaxMerges = size_t(1) << 21;

/// Returns advice for the user. Other files in the folder belong to an existing tokenizer or model,
/// whose ids no text can make again.
std::string how_to_make(const std::string& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "config.json"}) {
    if (is_there(folder + "/" + name))
      return "; take vocab.json and merges.txt from where the model comes from";
  }
  return text("; make both files: python3 ", shared_file("tools/data/bpe.py"),
              " TEXT --vocab-size 50257 --out ", folder);
}

std::string read_file(const std::string& folder, const char* name) {
  const std::string path = folder + "/" + name;
  if (!is_there(path)) refuse(Exit::kInput, path, ": is missing", how_to_make(folder));
  return read_whole(path, kMaxFileBytes);
}

/// A reader of the lines of merges.txt, checked against the entries of vocab.json.
class MergesReader {
 public:
  MergesReader(const BpeVocabulary& vocabulary, const std::string& folder)
      : vocabulary_(vocabulary), folder_(folder) {}

  void read(std::string_view content, BpeFiles& out) {
    const auto lines = size_t(std::count(content.begin(), content.end(), '\n')) + 1;
    if (lines > kMaxMerges) fail(text(lines, " lines, at most ", kMaxMerges, " are read"));
    out.table = MergeTable(lines);
    while (!content.empty()) {
      ++line_;
      const size_t bytes = std::min(content.find('\n'), content.size());
      add_line(content.substr(0, bytes), out);
      content.remove_prefix(std::min(bytes + 1, content.size()));
    }
  }

 private:
  void add_line(std::string_view line, BpeFiles& out) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version")) return;  // on any line, as in `tokenizers`
    const size_t blank = line.find(' ');
    if (blank == line.npos || blank == 0 || blank + 1 == line.size() ||
        line.find(' ', blank + 1) != line.npos) {
      fail(shown_entry(line) + " is not two entries with one blank between");
    }
    const std::string left(line.substr(0, blank)), right(line.substr(blank + 1));
    const BpeMerge merge = {
        .left = id_of(left), .right = id_of(right), .result = id_of(left + right)};
    if (!out.table.add(merge.left, merge.right, uint32_t(out.merges.size())))
      fail(shown_entry(line) + " is merged by an earlier line");
    out.merges.push_back(merge);
  }

  int32_t id_of(const std::string& entry) const {
    const auto found = vocabulary_.ids.find(entry);
    if (found == vocabulary_.ids.end()) fail("vocab.json has no " + shown_entry(entry));
    return found->second;
  }

  [[noreturn]] void fail(const std::string& what) const {
    refuse(Exit::kInput, folder_, "/merges.txt: line ", line_, ": ", what, how_to_make(folder_));
  }

  const BpeVocabulary& vocabulary_;
  const std::string& folder_;
  int64_t line_ = 0;
};

std::array<int32_t, 256> find_bytes(const BpeVocabulary& vocabulary, const std::string& folder) {
  std::array<int32_t, 256> ids{};
  for (size_t byte = 0; byte < ids.size(); ++byte) {
    const std::string symbol = bpe_symbol(uint8_t(byte));
    const auto found = vocabulary.ids.find(symbol);
    if (found == vocabulary.ids.end()) {
      refuse(Exit::kInput, folder, "/vocab.json: has no ", shown_entry(symbol), ", which is byte ",
             byte, "; this is no byte-level BPE", how_to_make(folder));
    }
    ids[byte] = found->second;
  }
  return ids;
}

uint32_t crc_of(const BpeVocabulary& vocabulary) {
  uint32_t crc = 0;
  for (const std::string* entry : vocabulary.entries)  // with its final zero, so lengths count
    crc = crc32(reinterpret_cast<const uint8_t*>(entry->c_str()), entry->size() + 1, crc);
  return crc;
}

uint32_t crc_of(const std::vector<BpeMerge>& merges) {
  return crc32(reinterpret_cast<const uint8_t*>(merges.data()), merges.size() * sizeof(BpeMerge));
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

BpeFiles read_bpe_files(const std::string& folder) {
  if (!is_folder(folder)) {
    refuse(
        Exit::kInput, folder,
        ": is no folder with tokenizer.json, with vocab.json and merges.txt, with spiece.model or ",
        "with spm.model; put the folder there that the model comes with, as Hugging Face's hub ",
        "has it, write data.tokenizer = \"bytes\", or", how_to_make(folder).substr(1));
  }
  const BpeVocabulary vocabulary = parse_bpe_vocabulary(
      read_file(folder, "vocab.json"), folder + "/vocab.json", how_to_make(folder));
  BpeFiles files;
  files.byte_ids = find_bytes(vocabulary, folder);
  for (const std::string* entry : vocabulary.entries) files.tokens.push_back(bpe_bytes(*entry));
  MergesReader(vocabulary, folder).read(read_file(folder, "merges.txt"), files);
  files.fingerprint = uint64_t(crc_of(vocabulary)) << 32 | crc_of(files.merges);
  return files;
}

}  // namespace zero
