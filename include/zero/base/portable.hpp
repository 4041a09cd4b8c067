#pragma once
/// What lets one header serve the host compiler and nvcc.

#ifdef __CUDACC__
#define ZERO_HOST_DEVICE __host__ __device__
#else
#define ZERO_HOST_DEVICE
#endif
