#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/data/bpe_tokenizer.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {

/// vocab.json as it is written. Not copied: `entries` points into `ids`.
struct BpeVocabulary {
  BpeVocabulary() = default;
  BpeVocabulary(BpeVocabulary&&) = default;

  std::unordered_map<std::string, int32_t, KeyedHash> ids;
  std::vector<const std::string*> entries;  ///< by id, none missing
};

/// Parses `content` of the file `path`. Throws Error(kInput) with the offset and `advice` for
/// anything but one JSON object whose entries differ and whose ids are 0, 1, 2, ... in any order.
BpeVocabulary parse_bpe_vocabulary(const std::string& content, const std::string& path,
                                   const std::string& advice);

/// An entry in quotes for a message: cut where it is long, UTF-8, without control characters.
std::string shown_entry(std::string_view entry);

/// The printable character that stands for a byte in vocab.json and merges.txt, as UTF-8: itself
/// if Latin-1 prints it, else the next free one from U+0100 on; a blank is U+0120.
std::string bpe_symbol(uint8_t byte);

/// The bytes that an entry of vocab.json stands for. An entry with any other character, such as a
/// special token with a blank, stands for its own UTF-8.
std::string bpe_bytes(const std::string& entry);

/// The content of vocab.json and merges.txt of a byte-level BPE.
struct BpeFiles {
  std::vector<std::string> tokens;         ///< the bytes of each id; none is empty
  std::array<int32_t, 256> byte_ids = {};  ///< the id of each single byte
  std::vector<BpeMerge> merges;            ///< by rank
  MergeTable table{0};                     ///< of `merges`
  uint64_t fingerprint = 0;                ///< changes with any entry, id, or merge
};

/// Reads FOLDER/vocab.json, one JSON object from entry to id, and FOLDER/merges.txt, a merge a
/// line: two entries with one blank between; lines that begin with "#version" are no merges. Throws
/// Error(kInput) with file, offset or line and how such files are made. It does so for a file that
/// is missing, too large or malformed. Malformed are an entry or id that comes twice; ids that are
/// not 0, 1, 2, ...; a byte without its entry; a merge that comes twice or whose sides or result
/// are no entries.
BpeFiles read_bpe_files(const std::string& folder);

}  // namespace zero
