#pragma once
/// Looks at paths without the standard library's exceptions, because their texts name nothing that
/// a user could change.

#include <chrono>
#include <string>

#include "zero/base/error.hpp"

namespace zero {

enum class PathKind { nothing, file, folder, other, unknown };

struct PathLook {
  PathKind kind = PathKind::nothing;
  int reason = 0;  ///< errno, if `kind` is `unknown`
};
/// Returns the kind of the target of `path`. Follows links.
PathLook look_at(const std::string& path);
/// Returns the kind of `path` itself, which is `other` for a link.
PathLook look_at_name(const std::string& path);

/// Returns the words of the errno `reason` and advice, such as "Permission denied; let this user
/// look there, or name another path".
std::string path_advice(int reason);

/// True if `path` leads to something. If the system does not tell, throws Error(exit), or
/// Error(kIo) if a disk fails. The text names path, reason and remedy.
bool is_there(const std::string& path, Exit exit = Exit::kInput);
/// True if `path` leads to a folder. Throws as is_there().
bool is_folder(const std::string& path, Exit exit = Exit::kInput);
/// True if no new file may have the name `path`, even if that is a link that leads nowhere. Throws
/// as is_there().
bool is_taken(const std::string& path, Exit exit = Exit::kIo);

/// Returns why `path` is not a usable folder: "is no folder" or a path_advice(). "" if it is one.
std::string why_no_folder(const std::string& path);

struct FileStart {
  std::string bytes;
  int reason = 0;  ///< errno of a failed read, else 0
};
/// Reads the first `most` bytes of a file or a pipe, such as a shell's <(command).
/// FileStart::reason is ETIMEDOUT if a pipe is silent until `patience` ends.
FileStart read_start(const std::string& path, size_t most,
                     std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace zero
