#include "zero/base/error.hpp"

namespace zero {

void fail(Exit exit, const char* file, int line, const char* condition, const std::string& what) {
  throw Error(exit, text(what, " [", file, ":", line, ": ", condition, "]"));
}

}  // namespace zero
