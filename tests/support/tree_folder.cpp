#include "tests/support/tree_folder.hpp"

#include <cstdlib>

namespace zero::testing_support {

std::filesystem::path tree_folder() {
  const char* const elsewhere = std::getenv("ZERO_TREE");
  return elsewhere != nullptr ? elsewhere : ZERO_TREE;
}

}  // namespace zero::testing_support
