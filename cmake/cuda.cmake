# ZERO_DEVICE=cuda: the toolkit and its libraries. What is missing is one line, and the end.

find_program(ZERO_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT ZERO_NVCC)
  message(FATAL_ERROR "ZERO_DEVICE=cuda, but no nvcc in PATH, CUDA_HOME or /usr/local/cuda: "
                      "install the CUDA toolkit, or configure with ZERO_DEVICE=host")
endif()
set(CMAKE_CUDA_COMPILER ${ZERO_NVCC})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPU architectures: 90 is Hopper" FORCE)
endif()
enable_language(CUDA)
# CMake 3.25 does not know how nvcc 13 is told of C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# zero_find_cuda_part(<name> <header> <library> <what installs it>)
function(zero_find_cuda_part name header library how)
  find_path(ZERO_${name}_INCLUDE ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(ZERO_${name}_LIBRARY ${library} HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(NOT ZERO_${name}_INCLUDE OR NOT ZERO_${name}_LIBRARY)
    message(FATAL_ERROR "ZERO_DEVICE=cuda, but no ${header} or lib${library} was found: ${how}, "
                        "name its folder in CMAKE_PREFIX_PATH, or configure with ZERO_DEVICE=host")
  endif()
endfunction()
zero_find_cuda_part(CUBLASLT cublasLt.h cublasLt "install cuBLAS with the CUDA toolkit")

# Without NCCL, or with one that knows no windows, ranks exchange through host memory.
find_path(ZERO_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(ZERO_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
set(ZERO_NCCL OFF)
if(ZERO_NCCL_INCLUDE AND ZERO_NCCL_LIBRARY)
  file(STRINGS ${ZERO_NCCL_INCLUDE}/nccl.h version REGEX "define NCCL_VERSION_CODE [0-9]+")
  string(REGEX MATCH "[0-9]+$" version "${version}")
  if(version GREATER_EQUAL 22700)
    set(ZERO_NCCL ON)
  endif()
endif()
if(NOT ZERO_NCCL)
  message(STATUS "NCCL 2.27 or later not found (Debian: libnccl-dev): GPUs exchange through host "
                 "memory, far slower")
endif()

# cuDNN is opened while running; a build needs headers alone, and does without.
find_path(ZERO_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_path(ZERO_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
          PATHS ${PROJECT_SOURCE_DIR}/.deps/cudnn-frontend/include)
if(ZERO_CUDNN_INCLUDE AND ZERO_CUDNN_FRONTEND_INCLUDE)
  set(ZERO_ATTENTION cudnn)
else()
  set(ZERO_ATTENTION own)
  message(STATUS "cudnn.h or cudnn_frontend.h not found (tools/cudnn_frontend.sh): attention uses "
                 "our own kernels, far slower")
endif()

# CUTLASS is headers alone, and a build does without.
find_path(ZERO_CUTLASS_INCLUDE cutlass/cutlass.h PATHS ${PROJECT_SOURCE_DIR}/.deps/cutlass/include)
if(ZERO_CUTLASS_INCLUDE)
  set(ZERO_GELU_PRODUCTS cutlass)
else()
  set(ZERO_GELU_PRODUCTS absent)
  message(STATUS "cutlass/cutlass.h not found (tools/cutlass.sh): products with GELU are "
                 "cuBLASLt's alone, up to 1.2 times as slow on Hopper")
endif()

# Kokkos' package wants every C++ file to go through its wrapper of nvcc. Here a file says itself
# whether it needs nvcc (zero_use_nvcc), with the flags below.
set(Kokkos_LAUNCH_COMPILER OFF)
find_package(Kokkos 4.5 QUIET)
if(NOT Kokkos_FOUND OR NOT Kokkos_ENABLE_CUDA)
  find_package(Kokkos 4.5 QUIET PATHS ${PROJECT_SOURCE_DIR}/.deps/kokkos-cuda NO_DEFAULT_PATH)
endif()
if(NOT Kokkos_FOUND OR NOT Kokkos_ENABLE_CUDA)
  message(FATAL_ERROR "ZERO_DEVICE=cuda, but no Kokkos 4.5 or later with CUDA was found: "
                      "run tools/kokkos.sh cuda, or name yours in Kokkos_DIR")
endif()
set_target_properties(Kokkos::kokkoscore PROPERTIES INTERFACE_COMPILE_OPTIONS ""
                      INTERFACE_LINK_OPTIONS "" INTERFACE_COMPILE_DEFINITIONS "")

# It links the driver's library, which a machine without a GPU lacks; ours finds it when it is used.
add_library(zero_driver STATIC src/device/gpu/driver.cpp)
target_link_libraries(zero_driver PRIVATE CUDA::toolkit ${CMAKE_DL_LIBS})
set_target_properties(Kokkos::CUDA PROPERTIES INTERFACE_LINK_LIBRARIES "zero_driver;CUDA::cudart")

string(APPEND CMAKE_CUDA_FLAGS " --extended-lambda --expt-relaxed-constexpr --fmad=false"
                               " -Xcompiler=-fopenmp")
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13 AND Kokkos_VERSION VERSION_LESS 4.7.1)
  string(APPEND CMAKE_CUDA_FLAGS " -include ${PROJECT_SOURCE_DIR}/cmake/kokkos_cuda13.hpp")
endif()
# Kernels take a ninth of the room in a program.
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
  string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=size")
endif()
