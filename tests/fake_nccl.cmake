# src/comm/gpu over a stand-in for NCCL (support/fake_nccl), which processes of one machine share,
# and for CUDA's header (support/fake_cuda): objects that take the place of zero_comm's
# nccl_absent.cpp in a program.
set(stand_ins ${CMAKE_CURRENT_SOURCE_DIR}/support/fake_nccl
              ${CMAKE_CURRENT_SOURCE_DIR}/support/fake_cuda)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/support/fake_nccl/*.cpp
     ${PROJECT_SOURCE_DIR}/src/comm/gpu/*.cpp)
list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
add_library(zero_fake_nccl OBJECT ${sources} support/fake_cuda_names.cpp
                                  ${PROJECT_SOURCE_DIR}/src/device/gpu/errors.cpp)
target_include_directories(zero_fake_nccl PRIVATE ${stand_ins} ${PROJECT_SOURCE_DIR})
target_link_libraries(zero_fake_nccl PUBLIC zero_comm)

file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/support/fake_nccl/*_test.cpp)
add_executable(fake_nccl_test ${tests} comm/communicator_test.cpp)
target_include_directories(fake_nccl_test PRIVATE ${stand_ins} ${PROJECT_SOURCE_DIR})
target_link_libraries(fake_nccl_test PRIVATE zero_fake_nccl zero_test_support zero_test_main)
foreach(test ${tests})
  zero_register_file(fake_nccl_test ${test})
endforeach()
foreach(ranks 2 3 4 6 8 70)
  set(which "*CommunicatorTest*nccl*")
  if(ranks EQUAL 70)  # more than one pass of the tree adds
    set(which "*SumsAlong*nccl1024:*GathersEvery*nccl1024:*AddsWords*nccl1024")
  endif()
  add_test(NAME fake_nccl/communicator.np${ranks}
           COMMAND ${launch} ${ranks} $<TARGET_FILE:fake_nccl_test> --gtest_filter=${which})
  set_tests_properties(fake_nccl/communicator.np${ranks} PROPERTIES
                       PROCESSORS 2 TIMEOUT 300 ENVIRONMENT "${settings}"
                       PASS_REGULAR_EXPRESSION "all ranks passed"
                       FAIL_REGULAR_EXPRESSION "fake NCCL:|Sanitizer:|:[0-9]+: runtime error:")
endforeach()

# Whole trainings over it: ZERO_COMM=nccl. Tests know ranks by the program's name.
add_executable(zeroapp_fake_nccl ${PROJECT_SOURCE_DIR}/src/main.cpp)
target_link_libraries(zeroapp_fake_nccl PRIVATE zero_fake_nccl zero_commands)
set_target_properties(zeroapp_fake_nccl PROPERTIES OUTPUT_NAME zeroapp RUNTIME_OUTPUT_DIRECTORY
                                                   ${CMAKE_CURRENT_BINARY_DIR}/fake_nccl)
