#pragma once
/// The fp32 master of a weight, whatever completes it. See MasterLow in optimizer.hpp.

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

ZERO_HOST_DEVICE inline float load_master(const float* weight, const float*, int64_t i) {
  return weight[i];
}
ZERO_HOST_DEVICE inline float load_master(const bf16* weight, const int16_t* low, int64_t i) {
  return join_master(weight[i], low[i]);
}
ZERO_HOST_DEVICE inline float load_master(const f16*, const float* low, int64_t i) {
  return low[i];
}

ZERO_HOST_DEVICE inline void store_master(float master, float* weight, float*, int64_t i) {
  weight[i] = master;
}
ZERO_HOST_DEVICE inline void store_master(float master, bf16* weight, int16_t* low, int64_t i) {
  weight[i] = split_master(master, low[i]);
}
ZERO_HOST_DEVICE inline void store_master(float master, f16* weight, float* low, int64_t i) {
  weight[i] = f16(master);
  low[i] = master;
}

}  // namespace zero::kernels
