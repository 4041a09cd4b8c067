#include "zero/model/family.hpp"
#include "zero/model/gpt2.hpp"

namespace zero::model {

std::span<const Family* const> families() {
  static const Family* const kFamilies[] = {&gpt2_family()};
  return kFamilies;
}

}  // namespace zero::model
