#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/text/bpe_tokenizer.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {

/// The content of vocab.json. Not copied, because `entries` points into `ids`.
struct BpeVocabulary {
  BpeVocabulary() = default;
  BpeVocabulary(BpeVocabulary&&) = default;
  BpeVocabulary& operator=(BpeVocabulary&&) = default;

  std::unordered_map<std::string, int32_t, KeyedHash> ids;
  std::vector<const std::string*> entries;  ///< by id, none missing
};

/// Parses `content` of the file `path`. Throws Error(kInput) with the offset and `advice` for
/// anything but one JSON object. Its entries must differ and its ids be 0, 1, 2, ... in any order.
BpeVocabulary parse_bpe_vocabulary(const std::string& content, const std::string& path,
                                   const std::string& advice);

/// Returns an entry in quotes for a message: cut if long, UTF-8, without control characters.
std::string shown_entry(std::string_view entry);

/// Returns the printable character, as UTF-8, that stands for a byte in vocab.json and merges.txt.
/// A byte that Latin-1 prints stands for itself, others take U+0100, U+0101, ...; a blank is
/// U+0120.
std::string bpe_symbol(uint8_t byte);

/// Returns the bytes of an entry of vocab.json. An entry with any other character, such as a
/// special token with a blank, keeps its own UTF-8.
std::string bpe_bytes(const std::string& entry);

/// The content of vocab.json and merges.txt of a byte-level BPE.
struct BpeFiles {
  std::vector<std::string> tokens;         ///< [ids] bytes; none is empty
  std::array<int32_t, 256> byte_ids = {};  ///< [bytes] id of each single byte
  std::vector<BpeMerge> merges;            ///< in the order of their ranks
  MergeTable table{0};                     ///< table of `merges`
  uint64_t fingerprint = 0;                ///< changes with any entry, id, or merge
};

/// Reads vocab.json and merges.txt in FOLDER. The first is a JSON object from entry to id. The
/// second has a merge a line, two entries with one blank between; lines that begin with "#version"
/// are skipped. Throws Error(kInput), with file, offset or line and how to make such files, for a
/// file that is missing, too large or malformed. A vocabulary is malformed if an entry or id comes
/// twice, ids are not 0, 1, 2, ..., or a byte has no entry. A merge is malformed if it comes twice,
/// or a side or the result is no entry.
BpeFiles read_bpe_files(const std::string& folder);

}  // namespace zero
