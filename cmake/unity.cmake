# Several sources compiled as one read their common headers once. For a build from nothing: after a
# change all sources of a group are compiled again, and compile_commands.json names only the groups.
option(ZERO_UNITY "Compile up to ten sources as one: for builds from nothing" OFF)
set(ZERO_UNITY_GROUPS ${CMAKE_CURRENT_LIST_DIR}/unity_groups.py)
if(ZERO_UNITY)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
endif()

# zero_unity(<target>): joins the sources that the target has by now where unity_groups.py sees that
# none changes what another means. A source with options or definitions of its own stays alone,
# which CMake sees to. Groups are named after the target: a source of two targets has one group, and
# the files of it that a target has may be joined there too.
function(zero_unity target)
  if(NOT ZERO_UNITY OR ZERO_DEVICE STREQUAL "cuda")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${ZERO_UNITY_GROUPS} 10 ${sources}
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                  OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES
                                UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ZERO_UNITY_GROUPS} ${sources})
endfunction()
