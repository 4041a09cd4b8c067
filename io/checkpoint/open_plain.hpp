#pragma once

#include <string>

#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

/// Opens a file of an open folder: a regular one with one link, never through a symbolic link.
/// `folder_name` is for messages. Throws Error(kInput).
InputFile open_plain(int folder, const std::string& folder_name, const std::string& name);

}  // namespace zero::checkpoint
