#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/model/parameter_patterns.hpp"
#include "zero/model/recipe.hpp"

namespace zero::model {
namespace {

constexpr const char* kKey = "model.freeze";

graph::Graph freeze(const Architecture& model, std::span<const std::string> patterns,
                    graph::Graph forward) {
  std::vector<bool> frozen =
      matched(model, forward, {.key = kKey, .patterns = patterns, .whole = "trained or frozen"});
  for (size_t p = 0; p < frozen.size(); ++p) {
    if (forward.parameters[p].frozen) frozen[p] = true;
  }
  if (std::ranges::find(frozen, false) == frozen.end()) {
    refuse_settings({kKey}, "all ", frozen.size(),
                    " parameters are frozen and nothing is trained; leave out those that are to ",
                    "learn");
  }
  return graph::freeze(std::move(forward), frozen);
}

}  // namespace

Alteration freezing(std::vector<std::string> patterns) {
  return {.name = kKey,
          .purposes = {Purpose::train, Purpose::evaluate},
          .apply = [patterns = std::move(patterns)](const Architecture& model, graph::Graph graph) {
            return freeze(model, patterns, std::move(graph));
          }};
}

}  // namespace zero::model
