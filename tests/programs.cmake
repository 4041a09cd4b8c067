# Tests that start the whole program: Python scripts under runs/, each judged by its last word.
function(zero_test_program name processors word)
  add_test(NAME runs.${name}
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/runs/${name}.py
                   $<TARGET_FILE:zeroapp> ${MPIEXEC_EXECUTABLE})
  set_tests_properties(runs.${name} PROPERTIES PROCESSORS ${processors} TIMEOUT 600
                       PASS_REGULAR_EXPRESSION ${word}
                       FAIL_REGULAR_EXPRESSION "Sanitizer:|:[0-9]+: runtime error:"
                       ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()

find_package(Python3 COMPONENTS Interpreter REQUIRED)
zero_test_program(equal_bits 2 "all equal")
zero_test_program(refusals 2 "all refused")
zero_test_program(signals 2 "all ended in time")
zero_test_program(changes 1 "no part of which does")
