#pragma once
/// Optimizers as data: their settings, and their names and states for plans and checkpoints.
/// src/config/optimizer_keys.cpp has a row for every type. The formulas are kernels, listed in
/// kernels/support/optimizers.hpp.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "zero/base/dtype.hpp"

namespace zero {

enum class OptimizerType { AdamW, Adam, LAMB, Lion, SGD };

/// The section [optimizer].
struct OptimizerConfig {
  OptimizerType type = OptimizerType::AdamW;  ///< AdamW | Adam | LAMB | Lion | SGD
  double lr = 1e-3;                           ///< learning rate; >= 0
  /// Decay of momentum and variance, 0 <= beta < 1. Under Lion, decay of direction and momentum,
  /// {0.9, 0.99} by default.
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;        ///< > 0
  double weight_decay = 0;  ///< >= 0; not applied to norms and biases
  bool adam_w_mode = true;  ///< Adam only: true decays the weight, false the gradient (L2)
  double max_coeff = 10;    ///< LAMB: upper bound of the trust ratio
  double min_coeff = 0.01;
  double momentum = 0;    ///< SGD: 0 <= momentum < 1; at 0 it keeps no state
  double dampening = 0;   ///< SGD: momentum adds (1 - dampening) of a gradient; 0 to 1
  bool nesterov = false;  ///< SGD: looks ahead along its momentum

  bool operator==(const OptimizerConfig&) const = default;
};

/// A value that an optimizer keeps for each element of a parameter, beside the fp32 master. All
/// states of a unit are sharded alike and share one home, zero.offload_optimizer.
struct OptimizerState {
  const char* name;  ///< in buffers, and in tensor names of checkpoints: "optimizer/<name>/..."
  Dtype dtype = Dtype::f32;  ///< dtype of an element
  float initial = 0;         ///< value before the first update

  bool operator==(const OptimizerState&) const = default;
};

/// Maximum number of states of any optimizer.
inline constexpr int kMostStates = 2;

/// The properties of an optimizer that a plan depends on.
struct OptimizerForm {
  const char* name;                        ///< value of optimizer.type
  std::span<const OptimizerState> states;  ///< valid until the program ends
  /// Names of its ops on a unit. A single op updates each element independently. With two ops, the
  /// first sums norms of whole tensors, ranks add them up, and the second updates with them.
  std::array<const char*, 2> ops;

  bool needs_norms() const { return ops[1] != nullptr; }
};
/// Returns the properties of the configured optimizer.
OptimizerForm form_of(const OptimizerConfig& config);

/// True if the optimizers with these names, values of optimizer.type, use the same ops, because one
/// can then continue with the states of the other. An unknown name is only like itself.
bool update_alike(std::string_view one, std::string_view other);

}  // namespace zero
