#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/graph/passes.hpp"

namespace zero::graph {

Graph freeze(Graph forward, const std::vector<bool>& frozen) {
  std::vector<Parameter>& parameters = forward.parameters;
  ZERO_REQUIRE(frozen.size() == parameters.size(), "freeze: ", frozen.size(), " choices for ",
               parameters.size(), " parameters");
  const size_t units = forward.unit_names.size();
  std::vector<bool> trains(units, false);
  for (size_t p = 0; p < parameters.size(); ++p) {
    parameters[p].frozen = frozen[p];
    if (!frozen[p]) trains[size_t(parameters[p].unit)] = true;
  }
  ZERO_REQUIRE(std::ranges::find(trains, true) != trains.end(), "freeze: nothing is trained");
  std::vector<int32_t> apart(units, -1);
  for (Parameter& parameter : parameters) {
    const size_t unit = size_t(parameter.unit);
    if (!parameter.frozen || !trains[unit]) continue;
    if (apart[unit] < 0) {
      apart[unit] = int32_t(forward.unit_names.size());
      forward.unit_names.push_back(forward.unit_names[unit] + ".frozen");
    }
    parameter.unit = apart[unit];
  }
  return forward;
}

}  // namespace zero::graph
