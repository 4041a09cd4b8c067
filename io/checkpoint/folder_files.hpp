#pragma once

#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// Returns the exit status for an errno of open(). It is kInput if nothing lies there, or the wrong
/// kind of thing. It is kIo if the machine failed, which says nothing of what lies there.
Exit exit_of_open(int reason);

/// Opens a file in an open folder: a regular file with one link, never through a symbolic link.
/// `folder_name` is for messages. Throws Error of exit_of_open().
InputFile open_plain(int folder, const std::string& folder_name, const std::string& name);

/// Returns the path of a file in an open folder, for messages.
std::string path_in(int folder, const std::string& name);

/// Makes a file in an open folder (O_EXCL), with the last name of `path`. Throws Error(kIo).
OpenFile open_new(int folder, const std::string& path, int mode = 0600);

/// Makes a file as open_new() with this content, on disk on return.
void write_new(int folder, const std::string& path, std::string_view content);

}  // namespace zero::checkpoint
