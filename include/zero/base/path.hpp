#pragma once
/// What lies at a path, asked without exceptions of the library's, whose words name nothing that a
/// user could change.

#include <chrono>
#include <string>

#include "zero/base/error.hpp"

namespace zero {

enum class PathKind { nothing, file, folder, other, unknown };

struct PathLook {
  PathKind kind = PathKind::nothing;
  int reason = 0;  ///< of `unknown`: the errno
};
/// What `path` leads to, with links followed.
PathLook look_at(const std::string& path);
/// What the name itself is; a link is `other`.
PathLook look_at_name(const std::string& path);

/// "Permission denied; let this user look there, or name another path": why a path could not be
/// looked at, and what to change.
std::string path_advice(int reason);

/// Whether something is there. Throws Error(exit), or Error(kIo) where a disk fails, naming path,
/// reason and what to change, if that cannot be found out.
bool is_there(const std::string& path, Exit exit = Exit::kInput);
/// Whether a folder is there; throws likewise.
bool is_folder(const std::string& path, Exit exit = Exit::kInput);
/// Whether nothing new may have this name, be it a link that leads nowhere; throws likewise.
bool is_taken(const std::string& path, Exit exit = Exit::kIo);

/// Why `path` is no folder that may be used: "is no folder", or what path_advice() says; "" if it
/// is one.
std::string why_no_folder(const std::string& path);

struct FileStart {
  std::string bytes;
  int reason = 0;  ///< the errno where it could not be read
};
/// The first `most` bytes of a file. A pipe, such as a shell's <(command), is read too; of one that
/// nobody writes into, ETIMEDOUT after so long.
FileStart read_start(const std::string& path, size_t most,
                     std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace zero
