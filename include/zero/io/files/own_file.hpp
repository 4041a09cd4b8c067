#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// Files that a program keeps in a folder where anything may lie under their names: a link, which
/// leads elsewhere, or a pipe, at which open() waits for ever. Neither is followed or waited for.

/// Opens a regular file with the flags of open(). Throws Error(kIo) that says what lies there
/// instead, and where it cannot be opened.
OpenFile open_own(const std::string& path, int flags);

/// Makes a temporary file, to be renamed or removed soon. What has its name goes first, unless it
/// is a folder: no one else may use that name. None, with errno, where it cannot be made.
OpenFile make_own(const std::string& path);

/// Whether all of the file has reached the disk, if there is one behind it; else errno says why.
bool sync_file(const OpenFile& file);

/// The whole of a regular file of at most `most` bytes; none where it is not there, something else,
/// or longer.
std::optional<std::string> own_text(const std::string& path, int64_t most);

/// Bytes of an open file, for which a look never waits.
int64_t bytes_of(const OpenFile& file);

}  // namespace zero
