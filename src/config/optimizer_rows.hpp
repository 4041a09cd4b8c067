#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "zero/config/optimizer.hpp"

namespace zero {

/// An optimizer as an input file, a plan and an importer know it.
struct OptimizerRow {
  const char* name;                   ///< value of optimizer.type; DeepSpeed's but for case
  std::array<const char*, 2> ops;     ///< OptimizerForm::ops
  std::span<const char* const> keys;  ///< of [optimizer], beside type, lr and weight_decay
  std::span<const OptimizerState> (*states)(const OptimizerConfig& config);
  std::array<double, 2> betas = {0.9, 0.999};  ///< where the input file has none
  std::string_view transformers = "";          ///< its value of Transformers' --optim, if one
};

/// A row for every type, in the order of the enumerators.
std::span<const OptimizerRow> optimizer_rows();
inline const OptimizerRow& row_of(OptimizerType type) { return optimizer_rows()[size_t(type)]; }
std::vector<std::string_view> optimizer_names();

}  // namespace zero
