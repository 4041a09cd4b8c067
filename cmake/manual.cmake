# cmake -D program=ZEROAPP -D manual=FOLDER -P manual.cmake: writes the manual anew.
file(REMOVE_RECURSE ${manual})
execute_process(COMMAND ${program} manual ${manual} RESULT_VARIABLE status ERROR_VARIABLE words)
if(NOT status EQUAL 0)
  message(WARNING "no manual and completions: ${program} manual ends with ${status}: ${words}")
endif()
