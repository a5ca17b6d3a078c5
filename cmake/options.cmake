# Options, warnings and sanitizers that every target of the project shares, through the interface target tilescope_options.
option(TILESCOPE_APP "Build the program: window and command line (needs the kernels' library)" ON)
option(TILESCOPE_KERNELS "Build the kernels' library; without a CUDA toolkit it says that it has none" ON)
option(TILESCOPE_TESTS "Build the tests, fuzz targets and benchmarks" ON)
option(TILESCOPE_SANITIZE "Address and undefined-behaviour sanitizers" OFF)
set(TILESCOPE_CUDA AUTO CACHE STRING "Build the CUDA kernels: ON, OFF, or AUTO (where a toolkit is found)")
set_property(CACHE TILESCOPE_CUDA PROPERTY STRINGS AUTO ON OFF)

if(TILESCOPE_APP AND NOT TILESCOPE_KERNELS)
  message(FATAL_ERROR "TILESCOPE_APP needs TILESCOPE_KERNELS, which also builds without CUDA: add -DTILESCOPE_APP=OFF, or drop -DTILESCOPE_KERNELS=OFF")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without these two it caches nothing that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(tilescope_options INTERFACE)
target_include_directories(tilescope_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(tilescope_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Werror;-Wno-missing-field-initializers>
  $<$<COMPILE_LANGUAGE:CXX>:-Wshadow$<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:=local>>)  # of files compiled at once, one's local may have the name of another's constant
if(TILESCOPE_SANITIZE)
  target_compile_options(tilescope_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer>)
  target_link_options(tilescope_options INTERFACE -fsanitize=address,undefined)
endif()

# For a program that loads graphics drivers: under the sanitizers they stay loaded, so that what they keep has an owner to its end.
function(tilescope_keep_libraries target)
  if(TILESCOPE_SANITIZE)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/app/keep_libraries.cpp)
  endif()
endfunction()

# With CMAKE_UNITY_BUILD (test.sh in a new folder, the preset `sim`), compiles neighbours at once: up to `most` files of one folder, so that
# what all of them include is read once. Two files of a folder then may not give one name to different things.
function(tilescope_compile_neighbours_at_once target most)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  set(folders "")
  foreach(file IN LISTS sources)
    cmake_path(ABSOLUTE_PATH file NORMALIZE OUTPUT_VARIABLE path)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${path})
    get_filename_component(folder ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} ${file})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH files_${folder} number)
    math(EXPR groups "(${number} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(file IN LISTS files_${folder})
      math(EXPR group "${index} * ${groups} / ${number}")
      math(EXPR index "${index} + 1")
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP "${folder}_${group}")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
