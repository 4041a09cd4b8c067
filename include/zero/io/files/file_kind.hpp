#pragma once

#include <span>
#include <string>
#include <string_view>

#include "zero/io/files/input_file.hpp"

namespace zero {

/// Most bytes that file_kind() looks at.
inline constexpr size_t kFileKindBytes = 64;
/// Returns the kind of the file `path`, by its first bytes `first`, if no reader takes that kind.
/// Adds how to make a readable file: "is compressed by gzip; unpack it: gzip -dc FILE > NEW".
/// Returns "" for all other files.
std::string file_kind(std::string_view first, const std::string& path);

/// Returns the first kFileKindBytes of a file, or all of a shorter one.
std::string first_bytes(const InputFile& file);

/// Throws Error(kInput) naming `path`, with the text of file_kind(), unless that is "".
void require_text_kind(std::string_view first, const std::string& path);

/// Throws as require_text_kind(), but advises how to make a file of records.
void require_records_kind(std::string_view first, const std::string& path);

/// Throws as require_text_kind(), but only for kinds told by four bytes or more. Numbers without a
/// header may begin with any bytes.
void require_number_kind(std::string_view first, const std::string& path);

}  // namespace zero
