#include "src/config/kept_activations.hpp"

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/model_table.hpp"

namespace zero {
namespace {

std::string blocks(int64_t count) { return count > 0 ? counted(count, "block") : "the blocks"; }

}  // namespace

std::string kept_activations(const RunConfig& config) {
  const Recompute& recompute = config.recompute;
  const int64_t layers = block_count(config), named = int64_t(recompute.layers.size());
  switch (recompute.mode) {
    case Recompute::Mode::none:
      return text("recompute = \"none\" keeps every activation of ", blocks(layers));
    case Recompute::Mode::selective:
      return text("recompute = \"selective\" keeps those of ", blocks(layers),
                  " but what is cheap to compute again");
    case Recompute::Mode::full:
      return text("recompute = \"full\" keeps the inputs of ", blocks(layers));
    case Recompute::Mode::layers:
      break;
  }
  const std::string others = layers > named ? blocks(layers - named) : "the other blocks";
  return text("recompute keeps the inputs of ", blocks(named), " and every activation of ", others);
}

}  // namespace zero
