#include "zero/model/family.hpp"
#include "zero/model/gpt2.hpp"

namespace zero::model {

Catalogue catalogue() { return Catalogue({&gpt2_family()}, data_kinds()); }

}  // namespace zero::model
