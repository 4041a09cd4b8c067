#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zero {

/// vocab.json as it is written. Not copied: `entries` points into `ids`.
struct BpeVocabulary {
  BpeVocabulary() = default;
  BpeVocabulary(BpeVocabulary&&) = default;

  std::unordered_map<std::string, int32_t> ids;
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

}  // namespace zero
