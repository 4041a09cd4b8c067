# What must be there (MPI, Kokkos, threads, HDF5, xxHash, OpenSSL), what may be (oneDNN, liburing,
# SentencePiece, zstd, Arrow). A missing optional part costs one line here and a plain twin
# file, never the build.

include(CheckCXXSourceCompiles)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(MPI REQUIRED COMPONENTS CXX)

# A version manager may put a script in front of Python, which starts slower than Python itself.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
                  OUTPUT_VARIABLE Python3_EXECUTABLE OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(Python3::Interpreter PROPERTIES IMPORTED_LOCATION ${Python3_EXECUTABLE})
endif()

# Twins: host/x.cpp, or gpu/x.cpp or cuda/x.cpp: one header and one of them in a build.
if(ZERO_DEVICE STREQUAL "host")
  set(ZERO_OTHER_DEVICE "(gpu|cuda)")
elseif(ZERO_DEVICE STREQUAL "cuda")
  set(ZERO_OTHER_DEVICE host)
  include(cuda)
else()
  message(FATAL_ERROR "ZERO_DEVICE is '${ZERO_DEVICE}': choose host or cuda")
endif()

# A user's own Kokkos wins over the one that tools/setup.sh builds.
if(NOT Kokkos_FOUND)
  find_package(Kokkos 4.5 QUIET)
endif()
if(NOT Kokkos_FOUND)
  find_package(Kokkos 4.5 QUIET PATHS ${PROJECT_SOURCE_DIR}/.deps/kokkos NO_DEFAULT_PATH)
endif()
if(NOT Kokkos_FOUND)
  message(FATAL_ERROR "No Kokkos 4.5 or later: run tools/setup.sh, or name yours in Kokkos_DIR")
endif()
if(NOT Kokkos_ENABLE_OPENMP)
  message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} lacks OpenMP: build it with "
                      "Kokkos_ENABLE_OPENMP, or unset Kokkos_DIR and run tools/setup.sh")
endif()

# Checkpoints: HDF5's serial C library and the header of xxHash. Debian keeps the serial HDF5 beside
# the parallel ones; CMake's own FindHDF5 would want a C compiler of the project. Its shared library
# loads curl and thirty libraries behind that, which nothing here uses: where the static one links
# with compression alone, programs hold what they need of it, 3 MB.
find_path(ZERO_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(ZERO_HDF5_STATIC NAMES libhdf5_serial.a libhdf5.a PATH_SUFFIXES hdf5/serial)
if(ZERO_HDF5_INCLUDE AND ZERO_HDF5_STATIC AND NOT ZERO_HDF5_LIBRARY)
  set(CMAKE_REQUIRED_INCLUDES ${ZERO_HDF5_INCLUDE})
  set(CMAKE_REQUIRED_LIBRARIES ${ZERO_HDF5_STATIC} sz z m ${CMAKE_DL_LIBS} Threads::Threads)
  check_cxx_source_compiles("#include <hdf5.h>\nint main() { return H5Fclose(0); }"
                            ZERO_HDF5_LINKS)
  if(ZERO_HDF5_LINKS)
    set(ZERO_HDF5_LIBRARY ${CMAKE_REQUIRED_LIBRARIES})
  endif()
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
find_library(ZERO_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
find_path(ZERO_XXHASH_INCLUDE xxhash.h)
if(NOT ZERO_HDF5_INCLUDE OR NOT ZERO_HDF5_LIBRARY OR NOT ZERO_XXHASH_INCLUDE)
  message(FATAL_ERROR "HDF5 or xxHash not found (Debian: libhdf5-dev libxxhash-dev): "
                      "run tools/setup.sh")
endif()

# SHA-256. Of the static library a program takes the few objects it needs, 20 KB, and nothing else
# need be there where it runs; not every system has that library.
find_path(ZERO_CRYPTO_INCLUDE openssl/sha.h)
find_library(ZERO_CRYPTO_LIBRARY NAMES libcrypto.a crypto)
if(NOT ZERO_CRYPTO_INCLUDE OR NOT ZERO_CRYPTO_LIBRARY)
  message(FATAL_ERROR "OpenSSL not found (Debian: libssl-dev): run tools/setup.sh")
endif()

# Debian's CMake file for oneDNN asks for OpenCL development files; the library alone does not.
find_library(ZERO_DNNL_LIBRARY dnnl)
find_path(ZERO_DNNL_INCLUDE oneapi/dnnl/dnnl.h)
if(ZERO_DEVICE STREQUAL "cuda")
  set(ZERO_PRODUCTS cublaslt)
elseif(ZERO_DNNL_LIBRARY AND ZERO_DNNL_INCLUDE)
  set(ZERO_PRODUCTS onednn)
else()
  set(ZERO_PRODUCTS plain)
  message(STATUS "oneDNN not found (Debian: libdnnl-dev): products use plain loops, far slower")
endif()

# zero_find_part(<NAME> <library> <header> <message>): sets ZERO_<NAME>, ZERO_<NAME>_LIBRARY and
# ZERO_<NAME>_INCLUDE.
macro(zero_find_part name library header message)
  find_library(ZERO_${name}_LIBRARY NAMES ${library})
  find_path(ZERO_${name}_INCLUDE ${header})
  if(ZERO_${name}_LIBRARY AND ZERO_${name}_INCLUDE)
    set(ZERO_${name} ON)
  else()
    set(ZERO_${name} OFF)
    set(ZERO_${name}_LIBRARY "")
    message(STATUS "${message}")
  endif()
endmacro()

zero_find_part(URING uring liburing.h
               "liburing not found (Debian: liburing-dev): disks are read and written by threads")
# Debian has no static library of it.
zero_find_part(SENTENCEPIECE "libsentencepiece.a;sentencepiece" sentencepiece_processor.h
               "SentencePiece not found (Debian: libsentencepiece-dev): no spiece.model is read")
zero_find_part(ZSTD "libzstd.a;zstd" zstd.h
               "zstd not found (Debian: libzstd-dev): no .jsonl.zst is read")

# Debian has no Arrow. The Python package pyarrow holds its libraries and headers.
if(NOT DEFINED ZERO_PYARROW AND Python3_FOUND)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import pyarrow; print(pyarrow.__path__[0])"
                  OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(ZERO_PYARROW "${folder}" CACHE PATH "Folder of the Python package pyarrow; OFF: none")
endif()
file(GLOB ZERO_PARQUET_LIBRARY ${ZERO_PYARROW}/libparquet.so.* ${ZERO_PYARROW}/libarrow.so.*)
set(ZERO_PARQUET_INCLUDE ${ZERO_PYARROW}/include)
list(LENGTH ZERO_PARQUET_LIBRARY parts)
if(ZERO_PYARROW AND parts EQUAL 2 AND EXISTS ${ZERO_PARQUET_INCLUDE}/parquet/arrow/reader.h)
  set(ZERO_PARQUET ON)
else()
  set(ZERO_PARQUET OFF)
  set(ZERO_PARQUET_LIBRARY "")
  message(STATUS "Arrow not found (pip install pyarrow; cmake -DZERO_PYARROW=FOLDER): no Parquet")
endif()
