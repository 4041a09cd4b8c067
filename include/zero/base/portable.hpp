#pragma once
/// What lets one header serve the host compiler and nvcc. Code for threads of a GPU is templates
/// over what they share, marked ZERO_DEVICE_ONLY: the host compiles them for tests.

#ifdef __CUDACC__
#define ZERO_HOST_DEVICE __host__ __device__
#define ZERO_DEVICE_ONLY __device__
#define ZERO_FLATTEN
#else
#define ZERO_HOST_DEVICE
#define ZERO_DEVICE_ONLY
/// On a function of the host: GCC inlines all that it calls, and what these call in turn.
#define ZERO_FLATTEN __attribute__((flatten))
#endif

/// For functions that a loop would not vectorise without; a function that only prefetches looks to
/// GCC like one that does nothing.
#define ZERO_INLINE __attribute__((always_inline)) inline
