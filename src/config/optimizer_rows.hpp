#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "zero/config/optimizer_keys.hpp"

namespace zero {

/// The facts on an optimizer for input files, plans and imports.
struct OptimizerRow {
  const char* name;                   ///< value of optimizer.type; DeepSpeed's name in any case
  std::array<const char*, 2> ops;     ///< OptimizerForm::ops
  std::span<const char* const> keys;  ///< keys of [optimizer] beside type, lr and weight_decay
  std::span<const OptimizerState> (*states)(const OptimizerConfig& config);
  std::array<double, 2> betas = {0.9, 0.999};  ///< default of optimizer.betas
  std::string_view transformers = "";          ///< value of Transformers' --optim; "" if none
};

/// Returns a row for every type, in the order of the enumerators.
std::span<const OptimizerRow> optimizer_rows();
inline const OptimizerRow& row_of(OptimizerType type) { return optimizer_rows()[size_t(type)]; }
std::vector<std::string_view> optimizer_names();

}  // namespace zero
