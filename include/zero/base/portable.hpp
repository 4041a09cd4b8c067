#pragma once
/// Macros that let one header serve the host compiler and nvcc. Code for threads of a GPU is a
/// template over what they share, marked ZERO_DEVICE_ONLY. The host compiles it for tests.

#ifdef __CUDACC__
#define ZERO_HOST_DEVICE __host__ __device__
#define ZERO_DEVICE_ONLY __device__
#define ZERO_FLATTEN
#else
#define ZERO_HOST_DEVICE
#define ZERO_DEVICE_ONLY
/// An attribute that lets GCC inline all calls in a host function, and their calls in turn.
#define ZERO_FLATTEN __attribute__((flatten))
#endif

/// An attribute that inlines the function behind it at every call. It serves functions in loops
/// that would else not vectorise. It also serves functions that only prefetch, because GCC takes
/// them for functions that do nothing.
#define ZERO_INLINE __attribute__((always_inline)) inline
