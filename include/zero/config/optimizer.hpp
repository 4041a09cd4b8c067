#pragma once
/// The optimizers as data: their settings, and what a plan, a checkpoint and a table have to know
/// of each. src/config/optimizer.cpp has a row for every type; their formulas are kernels, listed
/// in kernels/support/optimizers.hpp.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "zero/base/dtype.hpp"

namespace zero {

enum class OptimizerType { AdamW, Adam, LAMB, Lion, SGD };

/// [optimizer]
struct OptimizerConfig {
  OptimizerType type = OptimizerType::AdamW;  ///< AdamW | Adam | LAMB | Lion | SGD
  double lr = 1e-3;                           ///< learning rate; >= 0
  /// Decay of momentum and variance. Lion's are of direction and momentum, and {0.9, 0.99} if not
  /// given. 0 <= beta < 1.
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;        ///< > 0
  double weight_decay = 0;  ///< >= 0; norms and biases are exempt
  bool adam_w_mode = true;  ///< Adam only: true decays the weight, false the gradient (L2)
  double max_coeff = 10;    ///< LAMB: bounds of the trust ratio
  double min_coeff = 0.01;
  double momentum = 0;    ///< SGD: 0 to below 1; without any it keeps no state
  double dampening = 0;   ///< SGD: what momentum takes of a gradient is 1 - dampening; 0 to 1
  bool nesterov = false;  ///< SGD: looks ahead along its momentum

  bool operator==(const OptimizerConfig&) const = default;
};

/// What an optimizer keeps for each element of a parameter beside the fp32 master. All states of a
/// unit are cut alike and rest together, where zero.offload_optimizer says.
struct OptimizerState {
  const char* name;          ///< of buffers, and of tensors in checkpoints: "optimizer/<name>/..."
  Dtype dtype = Dtype::f32;  ///< of an element
  float initial = 0;         ///< before the first update

  bool operator==(const OptimizerState&) const = default;
};

/// The most that any optimizer has.
inline constexpr int kMostStates = 2;

/// What a plan depends on, with these settings.
struct OptimizerForm {
  const char* name;                        ///< its optimizer.type
  std::span<const OptimizerState> states;  ///< valid for good
  /// Names of its ops on a unit. A single op updates elements by themselves. If there are two, the
  /// first adds up norms of whole tensors, which ranks then sum, and the second updates with them.
  std::array<const char*, 2> ops;

  bool needs_norms() const { return ops[1] != nullptr; }
};
OptimizerForm form_of(const OptimizerConfig& config);

/// Whether two optimizers, by their names, update by the same ops, so that one goes on with the
/// other's states. A name that is none is like itself alone.
bool update_alike(std::string_view one, std::string_view other);

}  // namespace zero
