#pragma once
/// Functions for the program's own files in a folder that others can write to. They follow no link
/// and never block on a pipe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// Opens the regular file `path` with `flags`, those of open(). Throws Error(kIo), which says what
/// has the name, if that is not a regular file or cannot be opened.
OpenFile open_own(const std::string& path, int flags);

/// Creates the temporary file `path`, which the caller soon renames or removes. First removes what
/// has the name, unless it is a folder. REQUIRES: no other process uses the name. Returns an empty
/// OpenFile, with errno, on failure.
OpenFile make_own(const std::string& path);

/// Syncs an open file. Returns true if it is on disk, or if its file system has no disk. Else errno
/// has the reason.
bool sync_file(const OpenFile& file);

struct Replacement {
  bool syncs = true;    ///< the content is on disk before it has the name
  int permissions = 0;  ///< of the file, whatever the umask; 0: as make_own() has them
};

/// Writes `content` to the temporary file `next`, and renames that to `path`. A reader finds the
/// old or the new content. Returns 0, or the errno of a failure, after which `next` is gone.
/// Allocates nothing if nothing fails.
int replace_by(const std::string& next, const std::string& path, std::string_view content,
               const Replacement& how);

/// Replaces the content of the file `path` by `content`. A reader finds the old or the new content.
/// Throws Error(kIo) with path and reason.
void replace_own(const std::string& path, std::string_view content);

/// Returns the content of the regular file `path` of at most `most` bytes. Returns none if the file
/// is missing, not regular or longer.
std::optional<std::string> own_text(const std::string& path, int64_t most);

/// Returns the size of an open file in bytes. Never blocks.
int64_t bytes_of(const OpenFile& file);

/// Sets the permissions (0 to 0777) of an open file or folder, whatever the umask, and keeps bits
/// above them. Returns "" or the reason for a failure: "is another user's".
std::string give_permissions(int descriptor, int permissions);

/// True if an open file or folder has all of these permissions.
bool allows(int descriptor, int permissions);

/// Returns permissions in octal: "0750".
std::string permissions_text(int permissions);

}  // namespace zero
