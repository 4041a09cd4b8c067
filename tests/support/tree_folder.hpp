#pragma once

#include <filesystem>

namespace zero::testing_support {

/// The root of the tree, for files that tests read: where it was built, or ZERO_TREE in the
/// environment. __FILE__ would not do, a compiler may be given relative names.
std::filesystem::path tree_folder();

}  // namespace zero::testing_support
