#include "src/train/stream_join.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::train {

void stream_join(std::span<const bf16> weight, std::span<const int16_t> rest, float* master) {
  for (size_t i = 0; i < weight.size(); ++i) master[i] = kernels::join_master(weight[i], rest[i]);
}

}  // namespace zero::train
