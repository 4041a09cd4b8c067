// A driver's library, libcuda.so.1, that knows of no GPU and takes whatever code it is given: with
// it cuDNN makes plans for a GPU that is only described.

extern "C" {

constexpr int kSuccess = 0, kNoDevice = 100;

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

// What gives a handle back gives this one.
#define ZERO_GIVES(name)    \
  int name(void** handle) { \
    static char one;        \
    *handle = &one;         \
    return kSuccess;        \
  }
ZERO_GIVES(cuLibraryLoadData)
ZERO_GIVES(cuLibraryLoadFromFile)
ZERO_GIVES(cuLibraryGetKernel)
ZERO_GIVES(cuModuleLoadData)
ZERO_GIVES(cuModuleLoadDataEx)
ZERO_GIVES(cuModuleLoadFatBinary)
ZERO_GIVES(cuModuleGetFunction)
ZERO_GIVES(cuModuleGetGlobal_v2)
ZERO_GIVES(cuKernelGetFunction)

#define ZERO_ANSWERS(name, status) \
  int name() { return status; }
ZERO_ANSWERS(cuLibraryUnload, kSuccess)
ZERO_ANSWERS(cuModuleUnload, kSuccess)
ZERO_ANSWERS(cuKernelSetAttribute, kSuccess)
ZERO_ANSWERS(cuKernelGetAttribute, kSuccess)
ZERO_ANSWERS(cuFuncSetAttribute, kSuccess)
ZERO_ANSWERS(cuFuncGetAttribute, kSuccess)
ZERO_ANSWERS(cuInit, kNoDevice)
ZERO_ANSWERS(cuGetErrorName, kNoDevice)
ZERO_ANSWERS(cuGetErrorString, kNoDevice)
ZERO_ANSWERS(cuDeviceGet, kNoDevice)
ZERO_ANSWERS(cuDeviceGetCount, kNoDevice)
ZERO_ANSWERS(cuDeviceGetAttribute, kNoDevice)
ZERO_ANSWERS(cuDevicePrimaryCtxRetain, kNoDevice)
ZERO_ANSWERS(cuDevicePrimaryCtxRelease, kNoDevice)
ZERO_ANSWERS(cuDevicePrimaryCtxReset, kNoDevice)
ZERO_ANSWERS(cuCtxGetCurrent, kNoDevice)
ZERO_ANSWERS(cuCtxGetDevice, kNoDevice)
ZERO_ANSWERS(cuCtxGetLimit, kNoDevice)
ZERO_ANSWERS(cuCtxPushCurrent, kNoDevice)
ZERO_ANSWERS(cuCtxPushCurrent_v2, kNoDevice)
ZERO_ANSWERS(cuCtxPopCurrent, kNoDevice)
ZERO_ANSWERS(cuCtxPopCurrent_v2, kNoDevice)
ZERO_ANSWERS(cuStreamGetCtx, kNoDevice)
ZERO_ANSWERS(cuStreamSynchronize, kNoDevice)
ZERO_ANSWERS(cuLaunchKernel, kNoDevice)
ZERO_ANSWERS(cuLaunchKernelEx, kNoDevice)
ZERO_ANSWERS(cuLaunchCooperativeKernel, kNoDevice)
ZERO_ANSWERS(cuLinkCreate, kNoDevice)
ZERO_ANSWERS(cuLinkCreate_v2, kNoDevice)
ZERO_ANSWERS(cuLinkAddData, kNoDevice)
ZERO_ANSWERS(cuLinkAddData_v2, kNoDevice)
ZERO_ANSWERS(cuLinkAddFile_v2, kNoDevice)
ZERO_ANSWERS(cuLinkComplete, kNoDevice)
ZERO_ANSWERS(cuLinkDestroy, kNoDevice)
ZERO_ANSWERS(cuMemcpyDtoH_v2, kNoDevice)
ZERO_ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, kNoDevice)
ZERO_ANSWERS(cuOccupancyMaxPotentialClusterSize, kNoDevice)
ZERO_ANSWERS(cuTensorMapEncodeTiled, kNoDevice)
}
