# zero_use_nvcc(<sources...>): in a build with CUDA, files that include Kokkos or have kernels of
# their own are nvcc's; nvcc_sources.regex says how such a file is known, here and to
# tools/cuda_check.sh. Those that only call CUDA's libraries include cuda_runtime_api.h.
function(zero_use_nvcc)
  if(NOT ZERO_DEVICE STREQUAL "cuda")
    return()
  endif()
  set(pattern_file ${PROJECT_SOURCE_DIR}/cmake/nvcc_sources.regex)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pattern_file})
  file(STRINGS ${pattern_file} pattern)
  foreach(source ${ARGN})
    file(STRINGS ${source} found LIMIT_COUNT 1 REGEX "${pattern}")
    if(found)
      set_source_files_properties(${source} PROPERTIES LANGUAGE CUDA)
    endif()
  endforeach()
endfunction()

# zero_room(<name> SOURCES <glob> [LINKS <targets...>] [PRIVATE_LINKS <targets...>])
# One room is one static library zero_<name>, made of every .cpp under the calling folder that
# matches; files that only a test or another configuration wants are named in EXCLUDE, and folders
# of another device are left out. ALONE: each source is compiled alone whatever ZERO_UNITY says, as
# what a compiler inlines depends on what stands beside it, and this room's loops must stay fast.
# BRIEF: no loop of the room is long; it is compiled at -O1.
function(zero_room name)
  cmake_parse_arguments(ARG "ALONE;BRIEF" "FOLDER" "LINKS;PRIVATE_LINKS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARG_FOLDER}/*.cpp)
  foreach(pattern ${ARG_EXCLUDE} "/(device|comm|vendor)/${ZERO_OTHER_DEVICE}/[^/]*\\.cpp$")
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  zero_use_nvcc(${sources})
  if(sources)
    add_library(zero_${name} STATIC ${sources})
    target_include_directories(zero_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                            PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(zero_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
    if(ARG_BRIEF)
      target_compile_options(zero_${name} PRIVATE ${ZERO_BRIEF_OPTIONS})
    endif()
    if(NOT ARG_ALONE)
      zero_unity(zero_${name})
    endif()
  else()
    add_library(zero_${name} INTERFACE)
    target_include_directories(zero_${name} INTERFACE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(zero_${name} INTERFACE ${ARG_LINKS})
  endif()
endfunction()
