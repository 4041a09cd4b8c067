#pragma once

#include <string>
#include <string_view>

namespace zero {

/// Returns the folder of the files that were installed with the file `program`: share/zeroapp
/// beside its bin. "" if there is none, as in a source tree.
std::string shared_folder(const std::string& program = "/proc/self/exe");

/// Returns the path of `name`, a file of the source tree such as inputs/reference.toml. If it
/// exists in the shared folder of `program`, that is its path there, else `name` itself.
std::string shared_file(std::string_view name, const std::string& program = "/proc/self/exe");

}  // namespace zero
