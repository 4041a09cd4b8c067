#pragma once
/// Stands for NVTX's header of this name.

inline int nvtxRangePushA(const char*) { return 0; }
inline int nvtxRangePop() { return 0; }
