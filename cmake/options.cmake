# Compiler settings of the whole tree.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1")
# For what need not be fast: it compiles in two thirds of the time.
set(ZERO_BRIEF_OPTIONS "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>")

# A scalar sqrtf that may set errno, or a division that may trap, keeps a loop from vectorising;
# contraction is off so that host and device, bodies and tails round alike. nvcc takes its options
# for the host's compiler apart, and what it makes of our code would not pass all of the warnings.
set(arithmetic -fno-math-errno -fno-trapping-math -ffp-contract=off -fstack-protector-strong)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wno-unknown-pragmas>"
                    "$<$<COMPILE_LANGUAGE:CXX>:-march=${ZERO_ARCH};${arithmetic}>")
list(JOIN arithmetic "," arithmetic_of_nvcc)
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,${arithmetic_of_nvcc}>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Before 13 it warns of overlapping copies in std::string's own operator+ (GCC bug 105651).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  if(ZERO_UNITY)
    # In a larger unit it inlines a destructor of std::optional and takes what is empty for unset.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
endif()
if(ZERO_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It takes a source that a group includes for a header, whose local types others would see.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  # It takes up to 650 MB, a third more, and 6 % less time where it does not collect its garbage.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()
add_compile_definitions(OMPI_SKIP_MPICXX)

# A compiler cache keeps nothing of what a precompiled header went into.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(ZERO_SANITIZE "" CACHE STRING "address, thread or undefined: instrument everything")
if(ZERO_SANITIZE)
  add_compile_options(-fsanitize=${ZERO_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ZERO_SANITIZE})
endif()
