# Compiler settings that every target of this project shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endif()
# The commonest build type of a project that names none would be unoptimised.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, Debug" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(perfuse_options INTERFACE)
target_compile_options(perfuse_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Wunused
  -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Wdouble-promotion -Wformat=2
  # a*b+c stays two roundings unless a kernel says fma: results don't change with the compiler
  -ffp-contract=off)
if(PERFUSE_WARNINGS_AS_ERRORS)
  target_compile_options(perfuse_options INTERFACE -Werror)
endif()
target_include_directories(perfuse_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

set(PERFUSE_SANITIZER "" CACHE STRING "address (with undefined), thread, or empty")
if(PERFUSE_SANITIZER STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PERFUSE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT PERFUSE_SANITIZER STREQUAL "")
  message(FATAL_ERROR "PERFUSE_SANITIZER=${PERFUSE_SANITIZER}: expected address, thread or nothing")
endif()
if(PERFUSE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "PERFUSE_BUILD_FUZZERS needs clang++ (libFuzzer), the compiler is ${CMAKE_CXX_COMPILER}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage of the library under test
endif()
