#include "src/model/gpt2.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

Catalogue catalogue() { return Catalogue({&gpt2_family()}, data_kinds()); }

}  // namespace zero::model
