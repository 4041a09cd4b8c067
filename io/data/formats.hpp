#pragma once
/// What stands around the ids of each format of open_tokens.hpp. The functions look at the first
/// bytes of a file (is_...), or check its header, index and length (..._layout; they throw
/// Error(kInput) with the place). A format that says no vocabulary takes the model's.

#include <array>
#include <string>

#include "io/data/id_file.hpp"

namespace zero {

inline constexpr std::array<uint8_t, 8> kTokenMagic = {0x93, 'Z', 'T', 'O', 'K', '\r', '\n', 0x1A};
inline constexpr int64_t kTokenHeaderBytes = 32;
inline constexpr uint32_t kLlmcMagic16 = 20240520, kLlmcMagic32 = 20240801;
inline constexpr int64_t kLlmcHeaderBytes = 1024;

/// Also true for a file that is cut off within the magic.
bool is_token_file(const DataFile& file);
IdLayout token_file_layout(const DataFile& file);

bool is_llmc_file(const DataFile& file);
IdLayout llmc_layout(const DataFile& file, int64_t vocab_size);

/// "X.idx" of "X.bin".
std::string index_path(const std::string& path);
IdLayout megatron_layout(const DataFile& file, const DataFile& index, int64_t vocab_size);

/// uint16 ids without a header; refuses what reads as a text, which is named wrongly.
IdLayout nanogpt_layout(const DataFile& file, int64_t vocab_size);

/// A token a byte.
IdLayout text_layout(const DataFile& file);

}  // namespace zero
