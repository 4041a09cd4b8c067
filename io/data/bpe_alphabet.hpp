#pragma once

#include <cstdint>
#include <string>

namespace zero {

/// The printable character that stands for a byte in vocab.json and merges.txt, as UTF-8: itself
/// if Latin-1 prints it, else the next free one from U+0100 on; a blank is U+0120.
std::string bpe_symbol(uint8_t byte);

/// The bytes that an entry of vocab.json stands for. An entry with any other character, such as a
/// special token with a blank, stands for its own UTF-8.
std::string bpe_bytes(const std::string& entry);

}  // namespace zero
