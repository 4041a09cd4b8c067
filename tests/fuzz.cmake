# Every target of fuzz/targets.cmake twice: as mutations.<name>, its body under repeatable mutations
# with this build's compiler, and, where clang has libFuzzer, 5 s of fuzz.<name> under sanitizers,
# which ctest runs with -C long alone: it compiles half of the program anew.
find_program(ZERO_FUZZ_COMPILER NAMES clang++-14 clang++ DOC "clang with libFuzzer, for fuzz/")
if(ZERO_FUZZ_COMPILER AND NOT DEFINED ZERO_HAS_FUZZER)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/fuzz_probe)
  file(WRITE ${probe}.cpp
       "#include <cstddef>\n#include <span>\n"
       "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, std::size_t) { return 0; }\n")
  execute_process(COMMAND ${ZERO_FUZZ_COMPILER} -std=c++20 -fsanitize=fuzzer,address,undefined
                          ${probe}.cpp -o ${probe}
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(ZERO_HAS_FUZZER ON CACHE INTERNAL "ZERO_FUZZ_COMPILER links libFuzzer")
  endif()
endif()
if(NOT ZERO_HAS_FUZZER)
  message(STATUS "fuzz: no clang with libFuzzer (Debian: clang-14 libclang-rt-14-dev); "
                 "skipped, mutations.* stand in")
endif()

set(fuzz_build ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
add_library(zero_mutations OBJECT fuzz/mutations.cpp)
target_link_libraries(zero_mutations PUBLIC GTest::gtest_main)
function(zero_fuzz_target name)
  cmake_parse_arguments(ARG "" "LINKS;SEEDS;LIKE" "FOLDERS;FILES" ${ARGN})
  set(seeds ${PROJECT_SOURCE_DIR}/${ARG_SEEDS})
  add_executable(mutations_${name} fuzz/${name}.cpp)
  target_include_directories(mutations_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(mutations_${name} PRIVATE ${ARG_LINKS} zero_mutations)
  add_test(NAME mutations.${name} COMMAND mutations_${name})
  set_tests_properties(mutations.${name} PROPERTIES TIMEOUT 300
                                                    ENVIRONMENT "ZERO_FUZZ_SEEDS=${seeds}")
  if(ZERO_HAS_FUZZER AND (ARG_FOLDERS OR ARG_FILES))
    add_test(NAME fuzz.${name} CONFIGURATIONS long
             COMMAND ${fuzz_build}/fuzz_${name} -max_total_time=5 -max_len=65536 -timeout=10
                     -detect_leaks=0 -print_final_stats=1 -artifact_prefix=${fuzz_build}/
                     ${fuzz_build}/corpus/${name} ${seeds})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 FIXTURES_REQUIRED fuzz_build)
  endif()
endfunction()
include(fuzz/targets.cmake)

# zero_fuzz_build(<name> <target> <tests>): one of several tests that each build a part of a folder,
# so that none takes long. It runs after <tests>, which build what it needs.
function(zero_fuzz_build name target)
  add_test(NAME fuzz.${name} CONFIGURATIONS long
           COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/fuzz
                   ${fuzz_build} --build-generator ${CMAKE_GENERATOR} --build-noclean
                   --build-target ${target}
                   --build-options -DCMAKE_CXX_COMPILER=${ZERO_FUZZ_COMPILER}
                   -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
                   -DZERO_UNITY=${ZERO_UNITY})
  set_tests_properties(fuzz.${name} PROPERTIES FIXTURES_SETUP fuzz_build RESOURCE_LOCK fuzz_build
                                               PROCESSORS 4 COST 200 TIMEOUT 600
                                               DEPENDS "${ARGN}")
endfunction()
if(ZERO_HAS_FUZZER)
  zero_fuzz_build(build_halves fuzz_of_halves)
  zero_fuzz_build(build_files fuzz_of_files fuzz.build_halves)
  zero_fuzz_build(build_folders fuzz_of_folders fuzz.build_halves)
endif()
