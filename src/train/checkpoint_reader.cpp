#include "src/train/checkpoint_reader.hpp"

#include <vector>

namespace zero::train {

void load_state(checkpoint::TensorReader& reader, const StateView& view) {
  std::vector<float> values;
  for (const auto& [held, part] : pieces_of(loaded_slices(*view.plan, view.rank))) {
    values.resize(size_t(held.numel()));
    reader.read(saved_tensor(*view.plan, held.parameter, part), held.begin, values);
    write_state(view, *held.unit, kind_of(part), held.range.begin, values);
  }
}

}  // namespace zero::train
