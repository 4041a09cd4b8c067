#pragma once
/// The fp32 master of a weight, whatever completes it. See MasterRest in optimizer.hpp.

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

ZERO_HOST_DEVICE inline float load_master(const float* weight, const float*, int64_t i) {
  return weight[i];
}
ZERO_HOST_DEVICE inline float load_master(const bf16* weight, const int16_t* rest, int64_t i) {
  return join_master(weight[i], rest[i]);
}
ZERO_HOST_DEVICE inline float load_master(const f16*, const float* rest, int64_t i) {
  return rest[i];
}

ZERO_HOST_DEVICE inline void store_master(float master, float* weight, float*, int64_t i) {
  weight[i] = master;
}
ZERO_HOST_DEVICE inline void store_master(float master, bf16* weight, int16_t* rest, int64_t i) {
  weight[i] = split_master(master, rest[i]);
}
ZERO_HOST_DEVICE inline void store_master(float master, f16* weight, float* rest, int64_t i) {
  weight[i] = f16(master);
  rest[i] = master;
}

}  // namespace zero::kernels
