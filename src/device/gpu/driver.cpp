// Kokkos calls three functions of the driver's library directly. A program linked with that library
// would not start without a driver, not even for help or a plan. These three functions load the
// library when they are called, after a device has been found.

#include <cuda.h>
#include <dlfcn.h>

namespace {

template <class Function>
Function* driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

template <class... Given>
CUresult call(const char* name, Given... given) {
  auto* const function = driver<CUresult(Given...)>(name);
  return function ? function(given...) : CUDA_ERROR_NO_DEVICE;
}

}  // namespace

extern "C" {

CUresult cuCtxGetDevice(CUdevice* device) { return call("cuCtxGetDevice", device); }
CUresult cuCtxPushCurrent(CUcontext context) { return call("cuCtxPushCurrent_v2", context); }
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return call("cuStreamGetCtx", stream, context);
}
}
