#include "io/data/bpe_files.hpp"

#include <algorithm>
#include <string_view>

#include "io/data/bpe_vocabulary.hpp"
#include "zero/base/crc32.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/files.hpp"

namespace zero {
namespace {

constexpr int64_t kMaxFileBytes = int64_t(64) << 20;
constexpr size_t kMaxMerges = size_t(1) << 21;

std::string how_to_make(const std::string& folder) {
  return text("; make both files: python3 tools/data/bpe.py TEXT --vocab-size 50257 --out ",
              folder);
}

std::string read_file(const std::string& folder, const char* name) {
  const std::string path = folder + "/" + name;
  if (!is_there(path)) refuse(Exit::kInput, path, ": is missing", how_to_make(folder));
  return read_whole(path, kMaxFileBytes);
}

/// Reads the lines of merges.txt one by one, against the entries of vocab.json.
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
    if (line.starts_with("#version")) return;  // wherever it stands, as `tokenizers` does
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
  for (const std::string* entry : vocabulary.entries)  // with its end, which no length hides
    crc = crc32(reinterpret_cast<const uint8_t*>(entry->c_str()), entry->size() + 1, crc);
  return crc;
}

uint32_t crc_of(const std::vector<BpeMerge>& merges) {
  return crc32(reinterpret_cast<const uint8_t*>(merges.data()), merges.size() * sizeof(BpeMerge));
}

}  // namespace

BpeFiles read_bpe_files(const std::string& folder) {
  if (!is_folder(folder)) {
    refuse(Exit::kInput, folder, ": is no folder with vocab.json and merges.txt; write ",
           "data.tokenizer = \"bytes\", or", how_to_make(folder).substr(1));
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
