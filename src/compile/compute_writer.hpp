#pragma once

#include <string>
#include <vector>

#include "src/compile/body_writer.hpp"
#include "src/compile/gathers.hpp"
#include "src/compile/gradient_layout.hpp"

namespace zero::plan {

/// Emits the ops of one graph, micro-batch by micro-batch, and knows in which buffer each tensor
/// lies.
class ComputeWriter {
 public:
  ComputeWriter(BodyWriter& writer, int32_t graph);

  /// Forgets the activations of the micro-batch before.
  void begin_micro(int32_t micro);
  void emit(int32_t op);

  /// A tensor that no unit and no activation holds lies here, in a persistent buffer.
  void set_data(graph::TensorId tensor, const Operand& place);
  void set_data(graph::TensorId tensor, int32_t buffer) {
    set_data(tensor, writer_.whole(buffer, Mode::read));
  }
  /// Stage 3: unit u's weights are now read from this whole-unit buffer.
  void set_weights(int32_t unit, int32_t buffer) { weights_[size_t(unit)] = buffer; }
  /// Unit u's gradients are now written to this whole-unit buffer.
  void set_gradients(int32_t unit, int32_t buffer) { gradients_[size_t(unit)] = buffer; }
  /// From here on products that can do so write unit u's weight gradients to this fp32 sum, or
  /// `add` them.
  void set_sum(int32_t unit, int32_t buffer, bool add) { sums_[size_t(unit)] = {buffer, add}; }
  /// The buffer of an activation of this micro-batch, made where there is none.
  int32_t activation(graph::TensorId tensor);
  /// It is now read from this buffer.
  void set_activation(graph::TensorId tensor, int32_t buffer) {
    activations_[size_t(tensor)] = buffer;
  }

 private:
  struct Sum {
    int32_t buffer = -1;
    bool add = false;
  };

  void write_to_sum(const graph::Op& op, PlanOp& made) const;
  Operand operand(graph::TensorId tensor, Mode mode);
  Operand part_of_unit(int32_t parameter, const std::vector<int32_t>& buffers, Mode mode) const;

  BodyWriter& writer_;
  const int32_t graph_index_;
  std::vector<int32_t> parameter_of_;    ///< [tensors]
  std::vector<bool> summed_;             ///< [parameters] summed_by_their_op()
  std::vector<const Placement*> place_;  ///< [parameters]
  std::vector<int32_t> weights_;         ///< [units] buffer
  std::vector<int32_t> gradients_;       ///< [units] buffer
  std::vector<Sum> sums_;                ///< [units]
  std::vector<Operand> data_;            ///< [tensors] of no buffer: none
  std::vector<int32_t> activations_;     ///< [tensors] buffer, -1: not made yet
  int32_t micro_ = 0;
};

}  // namespace zero::plan
