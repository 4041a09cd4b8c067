#pragma once

#include <span>
#include <string>
#include <string_view>

#include "zero/io/files/files.hpp"

namespace zero {

/// Says of a file that no reader takes what its first bytes tell, and what makes one of it that is
/// read: "is compressed by gzip; unpack it: gzip -dc FILE > NEW". "" for all other files. At most
/// kFileKindBytes are looked at.
inline constexpr size_t kFileKindBytes = 64;
std::string file_kind(std::string_view first, const std::string& path);

/// The first bytes of a file, to be told by them.
std::string first_bytes(const InputFile& file);

/// Throws Error(kInput) with the words of file_kind(), where it has any.
void require_text_kind(std::string_view first, const std::string& path);

/// Throws as require_text_kind(), with what makes a file of records.
void require_records_kind(std::string_view first, const std::string& path);

/// Only kinds that four bytes or more tell, for files of numbers without a header.
void require_number_kind(std::string_view first, const std::string& path);

}  // namespace zero
