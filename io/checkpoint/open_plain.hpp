#pragma once

#include <string>

#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

/// Of what could not be opened: kInput where the reason is what lies there, nothing or no such
/// thing; kIo where it is the machine's, which says nothing of what lies there.
Exit exit_of_open(int reason);

/// Opens a file of an open folder: a regular one with one link, never through a symbolic link.
/// `folder_name` is for messages. Throws Error of exit_of_open().
InputFile open_plain(int folder, const std::string& folder_name, const std::string& name);

}  // namespace zero::checkpoint
