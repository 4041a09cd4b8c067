#pragma once

#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/io/files/files.hpp"

namespace zero::checkpoint {

/// How to end where something could not be opened: kInput where the reason is what lies there,
/// nothing or no such thing; kIo where it is the machine's, which says nothing of what lies there.
Exit exit_of_open(int reason);

/// Opens a file of an open folder: a regular one with one link, never through a symbolic link.
/// `folder_name` is for messages. Throws Error of exit_of_open().
InputFile open_plain(int folder, const std::string& folder_name, const std::string& name);

/// For messages: a file of an open folder as the system knows that one.
std::string path_in(int folder, const std::string& name);

/// Makes a file of an open folder (O_EXCL), of the name with which `path` ends. Throws Error(kIo).
OpenFile open_new(int folder, const std::string& path, int mode = 0600);

/// The same with this content, on the disk when it returns.
void write_new(int folder, const std::string& path, std::string_view content);

}  // namespace zero::checkpoint
