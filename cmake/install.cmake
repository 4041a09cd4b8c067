# cmake --install BUILD --component runtime --prefix PREFIX: the program with all that it names, in
# a folder that can be moved. share/zeroapp is where the program looks for what it was installed
# with (zero/base/shared_files.hpp), so that the folders' names are fixed.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
set(share share/zeroapp)

# Where libraries are carried, as in a bundle, the program finds them beside itself; elsewhere it
# has no path of its own, unless who configures wants one, as Spack does.
set(keeps_rpath OFF)
if(CMAKE_INSTALL_RPATH OR CMAKE_INSTALL_RPATH_USE_LINK_PATH)
  set(keeps_rpath ON)
else()
  set_target_properties(zeroapp PROPERTIES INSTALL_RPATH "$ORIGIN/../lib:$ORIGIN/../cuda")
endif()
install(TARGETS zeroapp RUNTIME DESTINATION bin)
# Debug information names the folder of the build.
install(CODE "
  set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/zeroapp\")
  if(NOT ${keeps_rpath} AND NOT DEFINED ENV{ZERO_CARRIES_LIBRARIES})
    file(RPATH_REMOVE FILE \"\${program}\")
  endif()
  execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\${program}\"
                  COMMAND_ERROR_IS_FATAL ANY)")

install(DIRECTORY inputs doc DESTINATION ${share})
install(FILES README.md CHANGELOG.md DESTINATION ${share})
install(DIRECTORY jobscripts DESTINATION ${share} USE_SOURCE_PERMISSIONS)
install(DIRECTORY tools/data DESTINATION ${share}/tools USE_SOURCE_PERMISSIONS
        PATTERN __pycache__ EXCLUDE)
install(FILES tools/common.sh DESTINATION ${share}/tools)
install(PROGRAMS tools/nccl_on_one_gpu.sh tools/monitor.py DESTINATION ${share}/tools)

# A program for another machine cannot be started here, and is installed without its manual.
set(manual ${CMAKE_CURRENT_BINARY_DIR}/manual)
install(DIRECTORY ${manual}/man1 ${manual}/man5 DESTINATION share/man OPTIONAL)
foreach(pair "zeroapp.bash;share/bash-completion/completions" "_zeroapp;share/zsh/site-functions"
             "zeroapp.fish;share/fish/vendor_completions.d")
  list(POP_FRONT pair file)
  install(FILES ${manual}/completions/${file} DESTINATION ${pair} OPTIONAL)
endforeach()

configure_file(cmake/modulefile.in modulefile @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/modulefile DESTINATION share/modulefiles/zeroapp
        RENAME ${PROJECT_VERSION})
