#include "src/model/blenderbot.hpp"
#include "src/model/deberta.hpp"
#include "src/model/decoder.hpp"
#include "src/model/gpt2.hpp"
#include "src/model/t5.hpp"
#include "zero/model/family.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {

Catalogue catalogue() {
  std::vector<const Family*> families = {&gpt2_family(), &t5_family(), &blenderbot_family(),
                                         &deberta_family()};
  const std::vector<const Family*> decoders = decoder_families();
  families.insert(families.end(), decoders.begin(), decoders.end());
  return Catalogue(families, objectives());
}

}  // namespace zero::model
