# What must be there (MPI, Kokkos, threads) and what may be (oneDNN, hwloc). A missing optional
# part costs one line here and a plain twin file, never the build.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(MPI REQUIRED COMPONENTS CXX)
list(APPEND CMAKE_PREFIX_PATH ${PROJECT_SOURCE_DIR}/.deps/kokkos)
find_package(Kokkos 4.5 REQUIRED)

# Debian's CMake file for oneDNN asks for OpenCL development files; the library alone does not.
find_library(ZERO_DNNL_LIBRARY dnnl)
find_path(ZERO_DNNL_INCLUDE oneapi/dnnl/dnnl.h)
if(ZERO_DNNL_LIBRARY AND ZERO_DNNL_INCLUDE)
  set(ZERO_PRODUCTS onednn)
else()
  set(ZERO_PRODUCTS plain)
  message(STATUS "oneDNN not found (Debian: libdnnl-dev): products use the plain loops, many times slower")
endif()

find_library(ZERO_OPENBLAS_LIBRARY openblas)
