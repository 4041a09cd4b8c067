#include "src/model/blenderbot.hpp"
#include "src/model/deberta.hpp"
#include "src/model/gpt2.hpp"
#include "src/model/t5.hpp"
#include "zero/model/family.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {

Catalogue catalogue() {
  return Catalogue({&gpt2_family(), &t5_family(), &blenderbot_family(), &deberta_family()},
                   objectives());
}

}  // namespace zero::model
