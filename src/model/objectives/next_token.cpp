#include "zero/model/objective.hpp"

namespace zero::model {

const Objective& next_token_objective() {
  static const Objective kNextToken{
      .settings = {.name = "tokens", .keys = scoring_keys(), .metrics = token_metrics()},
      .data = &token_data()};
  return kNextToken;
}

}  // namespace zero::model
