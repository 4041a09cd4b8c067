#pragma once

#include <string>

namespace zero {

/// Gives an open file or folder these permissions (0 to 0777), whatever the umask; bits above them
/// stay. "" or why it has others now: "is another user's".
std::string give_permissions(int descriptor, int permissions);

/// Whether an open file or folder has all of these.
bool allows(int descriptor, int permissions);

/// "0750"
std::string permissions_text(int permissions);

}  // namespace zero
